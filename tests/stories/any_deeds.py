"""Acts, answers, deaths and time, one at a time: what may happen to a bot."""

from __future__ import annotations

import asyncio
import json
import random
from collections import Counter
from collections.abc import Coroutine
from dataclasses import replace
from typing import Any

from bot.chat.surface import SurfaceFailed
from lifecycle.checking.sentinel_run import Sentinel
from lifecycle.codes import ALL
from lifecycle.heard import HeardStop, HeardStops, forget, note
from lifecycle.policy import ActionType, ApprovalClass, Level, Policy, Rate
from lifecycle.ports import Call, StoreUnavailable, ToolFailed
from lifecycle.proposal import Verb
from lifecycle.tier import Tier
from lifecycle.workflow import Workflow
from sentinel_rules import load_rules
from tests.builders import MAIL, PROD, REFUND, a_document, a_policy, a_tool, the_tools
from tests.roads import adopted
from tests.stories.resting_on_evidence import CONDITION
from tests.world import World

TOOLS = ("send-email", "act", "stage", "stage-window", "again", "search-all", "issue-refund")
PLACES = ("discord", "slack", "terminal")
ENVELOPE = {
    "max_affected_records": 5,
    "allowed_side_effects": [],
    "forbidden_effects": [],
    "reversible_required": False,
}
_REVIEWERS = ("ana", "ben", "dee")
_JOBS = ("close_due", "expire_due", "open_ready", "recover", "recheck", "remind")


def the_policy() -> Policy:
    """Return a policy with a tool of each way to act: at once, staged, with a window, again."""
    frequent, staged = Rate(1000, 60), {"deferred": True, "reversible": True}
    own = (
        a_tool("act", Tier.CONFIRM, ActionType.EXECUTE, rate=frequent),
        a_tool("stage", Tier.CONFIRM, ActionType.EXECUTE, rate=frequent, **staged),
        a_tool(
            "stage-window", Tier.CONFIRM, ActionType.EXECUTE, rate=frequent, window_s=60, **staged
        ),
        a_tool("again", Tier.PROPOSE, ActionType.EXECUTE, rate=frequent, idempotent=True, **staged),
        a_tool("search-all", Tier.AUTO, ActionType.EXECUTE, rate=frequent, idempotent=True),
    )
    tools = the_tools() | {tool.name: tool for tool in own}
    for name in ("send-email", "issue-refund"):
        tools[name] = replace(tools[name], rate=frequent)
    return a_policy(tools=tools)


class Deeds:
    """One life of a bot. Every deed may leave things under way; `wrong` is what may not be."""

    most, sentinel_of = 5, Sentinel
    offers: tuple[str, ...] = ()

    def __init__(self, world: World, seed: int) -> None:
        self.world, self.chance = world, random.Random(seed)
        self.under_way: set[asyncio.Task[None]] = set()
        self.waiting: list[asyncio.Future[str]] = []
        self.tools = the_policy().tools
        self.calls: Counter[tuple[str, str]] = Counter()
        self.stopped: set[str] = set()
        self.documents: dict[str, dict[str, Any]] = {}
        self.found_done: set[str] = set()
        self.wrong: list[str] = []
        self.mode, self.failures, self.proposed = "done", 0, 0
        self._write = world.store.write
        world.store.write = self._written  # type: ignore[method-assign]
        for name in TOOLS:
            world.tool(name).on = dict.fromkeys(map(str, Verb), self._called)

    # -- what the world does ----------------------------------------------------------------

    async def _written(self, unit: Any) -> Any:
        if self.failures > 0:
            self.failures -= 1
            raise StoreUnavailable("the disk is full")
        return await self._write(unit)

    async def _called(self, call: Call) -> dict[str, Any]:
        self.calls[call.idempotency_key, call.tool] += 1
        how = self.mode
        if how == "waits":
            self.waiting.append(asyncio.get_running_loop().create_future())
            how = await self.waiting[-1]
        if how == "failed":
            raise ToolFailed("not today")
        if how == "unknown":
            raise RuntimeError("cut off")
        if call.verb == Verb.ROLL_BACK and self.chance.random() < 0.2:
            return {"still_stands": ["a part"]}
        return {
            "made": self.chance.randint(1, 9),
            "affected_records": self.chance.choice((1, 1, 1, 9)),
        }

    @property
    def law(self) -> Any:
        return self.world.workflow.world

    def some(self) -> str:
        return f"p{self.chance.randint(max(1, self.proposed - 2), self.proposed)}"

    async def turns_of_the_loop(self, turns: int) -> None:
        for _ in range(turns):
            await asyncio.sleep(0)

    def begin(self, act: Coroutine[Any, Any, Any], then: Any = None) -> None:
        async def acting() -> None:
            try:
                reply = await act
            except (StoreUnavailable, SurfaceFailed):  # then it waits
                return
            except Exception as error:  # whatever it is, the law let it out
                self.wrong.append(repr(error))
                return
            code = getattr(reply, "code", None)
            if code is not None and code not in ALL:
                self.wrong.append(f"{code} is no code")
            if then is not None and reply and reply.done and reply.state:  # else it was spooled
                then()

        task = asyncio.create_task(acting())
        self.under_way.add(task)
        task.add_done_callback(self.under_way.discard)

    # -- deeds ------------------------------------------------------------------------------

    async def submits(self) -> None:
        if self.proposed >= self.most:
            return
        self.proposed += 1
        tool, now_ms = self.chance.choice(self.offers or TOOLS), self.world.clock.now_ms()
        base = {"send-email": MAIL, "issue-refund": REFUND}.get(tool, PROD | {"tool": tool})
        rests = self.chance.random() < 0.3
        if rests:
            await self.observes(good=True)
        document = a_document(
            base,
            proposal_id=f"p{self.proposed}",
            ts_ms=now_ms,
            parameters=base["parameters"]
            | {"subject": f"number {self.proposed}", "amount": "1.00", "currency": "USD"},
            preconditions=[CONDITION] if rests else None,
            task_id=self.chance.choice((None, "t1", "t1", "t2")),
            approval_class=self.chance.choice(("none", "none", "none", "single", "dual")),
            risk_envelope=ENVELOPE | {"allowed_side_effects": list(self.tools[tool].effects)},
            rollback_semantics=self._taken_back(tool),
            time_window=self.chance.choice((None, None, None, None, self._hours(now_ms))),
        )
        self.documents[f"p{self.proposed}"] = document
        await self._submitted(document)

    def _taken_back(self, tool: str) -> dict[str, Any] | None:
        kind = "deferred" if self.tools[tool].deferred else "none"
        asked = {"kind": kind, "window_s": self.chance.choice((None, 90, 1_000))}
        return self.chance.choice((None, None, {k: v for k, v in asked.items() if v}))

    def _hours(self, now_ms: int) -> dict[str, int]:
        return {
            "valid_from_ms": now_ms + self.chance.choice((0, 30_000)),
            "valid_until_ms": now_ms + self.chance.choice((600_000, 90_000_000)),
            "max_duration_ms": 60_000,
        }

    async def submits_again(self) -> None:
        """Send once more what is known, under its id or another one."""
        if self.documents:
            known = self.chance.choice(list(self.documents.values()))
            again = known | {"proposal_id": self.chance.choice((known["proposal_id"], "copy"))}
            await self._submitted(again)

    async def _submitted(self, document: dict[str, Any]) -> None:
        leila = replace(self.world.sender("leila"), surface=self.chance.choice(PLACES))
        self.begin(self.world.workflow.submit(json.dumps(document).encode(), leila))

    async def approves(self) -> None:
        person = self.world.sender(self.chance.choice(_REVIEWERS))
        self.begin(self.world.workflow.approve(self.some(), person, "right"))

    async def rejects(self) -> None:
        proposal_id, person = self.some(), self.chance.choice(("ana", "ben", "olga", "cal"))
        rejecting = self.world.workflow.reject(proposal_id, self.world.sender(person), "no")
        self.begin(rejecting, lambda: self.stopped.add(proposal_id))

    async def freezes(self) -> None:
        self.begin(self.world.workflow.freeze("looking", self.world.sender("ana")))

    async def thaws(self) -> None:
        self.begin(self.world.workflow.thaw(self.world.sender("ana")))

    async def adopts(self) -> None:
        rules = dict(self.world.workflow.policy.rules)
        level = self.chance.choice((Level.HARD, Level.SOFT, Level.ADVISORY))
        rules["preconditions_hold"] = replace(rules["preconditions_hold"], level=level)
        tools = the_policy().tools
        name = self.chance.choice(TOOLS)
        orchestrated: dict[str, Any] = {}
        match self.chance.choice(("none", "blocked", "gone", "dual", "window", "orchestrated")):
            case "blocked":
                tools = tools | {name: replace(tools[name], tier=Tier.BLOCK)}
            case "gone":
                tools = {key: tool for key, tool in tools.items() if key != name}
            case "dual":
                tools = tools | {name: replace(tools[name], quorum_class=ApprovalClass.DUAL)}
            case "window" if tools[name].window_s is not None:
                window_s = self.chance.choice((30, 120, 1_800))
                tools = tools | {name: replace(tools[name], window_s=window_s)}
            case "orchestrated":
                orchestrated = {
                    "orchestrator": "nour",
                    "auto_approval_tiers": frozenset({Tier.PROPOSE}),
                }
        self.failures = 0
        digest = f"pol1_{next(self.world.policies):064d}"
        policy = replace(the_policy(), rules=rules, tools=tools, digest=digest, **orchestrated)
        await adopted(self.world.workflow, policy, self.sentinel_of(load_rules(rules)))

    async def dies(self) -> None:
        """Cut off everything between two turns of the loop, and begin anew on what is on disk."""
        await self.ends()
        await self.begins_anew()

    async def ends(self) -> None:
        self.law.ending = True
        doomed = [*self.under_way, *self.law.background.tasks]
        for task in doomed:
            task.cancel()
        await asyncio.gather(*doomed, return_exceptions=True)
        self.waiting.clear()
        self.failures = 0
        # A process takes its writer along: nothing is committed by it after the next one began.
        await self.world.store.write(lambda _: None)

    async def begins_anew(self) -> None:
        fresh = replace(self.law, held=set(), heard=HeardStops(), ending=False)
        self.world.workflow = Workflow(fresh)
        await self.world.workflow.start()

    async def settles(self) -> None:
        proposal_id, happened = self.some(), self.chance.random() < 0.5
        settling = self.world.workflow.settle(proposal_id, self.world.sender("ana"), happened)
        self.begin(settling, lambda: happened and self.found_done.add(proposal_id))

    async def retries(self) -> None:
        self.begin(self.world.workflow.retry(self.some(), self.world.sender("ana")))

    async def observes(self, *, good: bool | None = None) -> None:
        self.failures = 0
        await self.world.observes(self.chance.random() < 0.6 if good is None else good)

    async def hears(self) -> None:
        """Take a stop, or a freeze, into an inbox that comes to it later."""
        named = self.some() if self.chance.random() < 0.8 else None
        key = f"slack:{self.chance.random()}"
        stop = HeardStop(key, "slack", self.world.clock.now_ms(), named)
        self.law.heard.add(stop)
        self.failures = 0
        await self.world.store.write(lambda tx: note(tx, stop))

    async def works(self) -> None:
        """Come to a stop that was heard: ben gave it, or somebody who may stop nothing."""
        for stop in list(self.law.heard._all.values())[:1]:
            if stop.proposal_id is not None:
                person = self.world.sender(self.chance.choice(("ben", "cal")))
                reply = await self.world.workflow.reject(stop.proposal_id, person, "no")
                self.stopped |= {stop.proposal_id} if reply.done and reply.state else set()
            self.failures = 0
            await self.world.store.write(lambda tx, key=stop.key: forget(tx, [key]))
            self.law.heard.drop(stop.key)

    async def does_a_job(self) -> None:
        self.begin(getattr(self.world.workflow, self.chance.choice(_JOBS))())

    async def passes(self) -> None:
        self.world.clock.advance(self.chance.choice((1, 6, 31, 61, 300, 901)))

    async def answers(self) -> None:
        """Let a tool that is at work answer."""
        for answer in [each for each in self.waiting if not each.done()][:1]:
            answer.set_result(self.chance.choice(("done", "done", "failed", "unknown")))

    async def turns(self) -> None:
        self.mode = self.chance.choice(("done", "waits", "waits", "waits", "failed", "unknown"))

    async def loses_the_disk(self) -> None:
        self.failures = self.chance.choice((1, 2, 5))

    async def shows(self) -> None:
        self.failures = 0
        await self.world.notifier.deliver(self.world.store, self.world.clock.now_ms())
