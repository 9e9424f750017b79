"""Sets the stage for the measures: the real law over the real store, with a tool that does nothing.

So what is measured is Signoff's own work.
"""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from bot.clocks.clock import SystemClock
from bot.process.garbage import spare_what_is_loaded
from bot.storage import open_store
from bot.storage.spool import FileSpool
from lifecycle.answers import Sender
from lifecycle.checking.rule_run import Workers
from lifecycle.checking.sentinel_run import Sentinel
from lifecycle.moment import Moment
from lifecycle.permit import KeyRing
from lifecycle.policy import (
    ActionType,
    Agent,
    Level,
    Limits,
    Person,
    Policy,
    Rate,
    RuleSettings,
    ToolKind,
    ToolPolicy,
)
from lifecycle.ports import Call, ProposalStore, Tool, Transaction
from lifecycle.posted_cards import note_card
from lifecycle.proposal import ActorKind
from lifecycle.review import Absent
from lifecycle.tier import Tier
from lifecycle.workflow import Workflow
from lifecycle.world import Law, World
from sentinel_rules import load_rules

SURFACE: Final = "bench"
#: As many agents as lives in flight at most: limits and rates are counted for each agent.
AGENTS: Final = tuple(f"agent-{number}" for number in range(64))
PERSON: Final = Sender(SURFACE, ActorKind.PERSON, "ana")
TOOL: Final = "refresh-cache"
#: So large that the measures reach no limit.
_UNBOUNDED: Final = 10**9


class QuickTool:
    """A tool that answers at once and does nothing."""

    async def execute(self, call: Call) -> Mapping[str, Any]:
        """Return a small receipt."""
        return {"affected_records": 1}

    async def commit(self, call: Call) -> Mapping[str, Any]:
        """Return an empty receipt."""
        return {}

    async def roll_back(self, call: Call) -> Mapping[str, Any]:
        """Return an empty receipt."""
        return {}


class QuickToolbox:
    """A toolbox that has the quick tool only."""

    def tool(self, name: str) -> Tool:
        """Return the quick tool, whatever the name."""
        return QuickTool()

    def real_path(self, path: str) -> str:
        """Return the path as it is."""
        return path

    def describe(self, name: str) -> Mapping[str, Any]:
        """Return an empty mapping: the tool adds nothing by config."""
        return {}


@dataclass(slots=True)
class QuickNotifier:
    """A notifier with one surface that misses nothing; cards are delivered by `Stage.deliver`."""

    nudged: asyncio.Event = field(default_factory=asyncio.Event)

    def nudge(self) -> None:
        """Note that there may be something to show."""
        self.nudged.set()

    def surfaces(self) -> tuple[str, ...]:
        """Return the name of the one surface."""
        return (SURFACE,)

    def alert(self, words: str) -> None:
        """Do nothing."""

    async def read_cards(self, proposal_id: str) -> bool:
        """Return True: the card was read."""
        return True

    async def lost_members(
        self, people: Iterable[str], *, only_certain: bool = False
    ) -> frozenset[Absent]:
        """Return nobody: no member has left."""
        return frozenset()

    async def catch_up(self) -> int:
        """Return 0: nothing was missed."""
        return 0

    async def hear_others(self, proposal_id: str, but: str) -> bool:
        """Return True: there is no other surface to hear."""
        return True


@dataclass(slots=True)
class Stage:
    """A running workflow, and the verbs to drive it with. Used on the event loop."""

    workflow: Workflow
    store: ProposalStore
    clock: SystemClock
    notifier: QuickNotifier
    ids: itertools.count[int] = field(default_factory=lambda: itertools.count(1))

    async def submit(self) -> str:
        """Submit one proposal with a content of its own; return its id."""
        number = next(self.ids)
        agent = AGENTS[number % len(AGENTS)]
        raw = document(f"bench-{number}", number, self.clock.now_ms(), agent)
        answer = await self.workflow.submit(raw, Sender(SURFACE, ActorKind.AGENT, agent))
        if answer.state != "sentinel_approved" or answer.proposal_id is None:
            raise RuntimeError(f"the bench's proposal was refused: {answer.reason}")
        return answer.proposal_id

    async def deliver(self) -> None:
        """Note every stale card as shown, as a surface does after it has posted them."""
        moment = self.workflow.world.moment()
        await self.store.write(lambda tx: _delivered(tx, moment))

    async def approve(self, proposal_id: str) -> None:
        """Approve in a person's name; the call of the tool goes on in the background."""
        reply = await self.workflow.approve(proposal_id, PERSON)
        if not reply.done:
            raise RuntimeError(f"the bench's approval was refused: {reply.words}")


@asynccontextmanager
async def staged(
    folder: Path,
    *,
    wrapped: Callable[[ProposalStore], ProposalStore] = lambda store: store,
    workers: Workers | None = None,
) -> AsyncIterator[Stage]:
    """Open a stage over a SQLite file in `folder`; the workflow is given `wrapped(store)`.

    What the stage does in place of a chat goes to the store itself, and so is not counted.
    """
    await asyncio.to_thread(folder.mkdir, parents=True, exist_ok=True)
    store = await open_store("sqlite:///bench.db", folder)
    clock, notifier = SystemClock(), QuickNotifier()
    numbers = itertools.count(1)
    policy = bench_policy()
    world = World(
        store=wrapped(store),
        clock=clock,
        notifier=notifier,
        toolbox=QuickToolbox(),
        spool=FileSpool(folder / "spool.jsonl"),
        ring=KeyRing({"bench": b"b" * 32}, "bench"),
        nonce=lambda: f"{next(numbers):032x}",
        law=Law(policy, Sentinel(load_rules(policy.rules), workers=workers or Workers())),
    )
    stage = Stage(Workflow(world), store, clock, notifier)
    try:
        await stage.workflow.start()
        spare_what_is_loaded()  # as the running bot does
        yield stage
    finally:
        await stage.workflow.shut_down(5)
        await store.close()


def document(proposal_id: str, number: int, now_ms: int, agent: str = AGENTS[0]) -> bytes:
    """Return a proposal of about 800 bytes."""
    return json.dumps(
        {
            "proposal_id": proposal_id,
            "ts_ms": now_ms,
            "actor": agent,
            "tool": TOOL,
            "action_type": "write",
            "target": {
                "resource_type": "cache",
                "resource_id": f"region-{number}",
                "domain": "shop.example",
                "constraints": {},
            },
            "parameters": {
                "region": f"region-{number}",
                "note": "The prices of this region changed; its pages are built anew. " * 5,
            },
            "risk_envelope": {
                "allowed_side_effects": ["cache"],
                "forbidden_effects": ["payment"],
                "max_affected_records": 10,
                "reversible_required": False,
            },
            "justification": "The prices of this region changed an hour ago",
        }
    ).encode()


def bench_policy() -> Policy:
    """Return a policy with one CONFIRM tool, one person who may approve, and the nine rules."""
    tool = ToolPolicy(
        TOOL,
        Tier.CONFIRM,
        ActionType.WRITE,
        kind=ToolKind.PYTHON,
        rate=Rate(_UNBOUNDED, 1),
        effects=("cache",),
    )
    roles = frozenset({"writer"})
    settings: dict[str, dict[str, Any]] = {
        "prohibited_content": {"phrases": ["final warning", "guaranteed returns"]},
        "recipients_allowed": {"domains": ["shop.example"]},
        "deploy_target_allowed": {"targets": {}},
        "amount_within_limit": {
            "per_action": {"USD": "100.00"},
            "per_agent_day": {"USD": "500.00"},
        },
        "secrets_absent": {},
        "blast_radius_bounded": {"max_affected_records": 100},
        "reversible_when_required": {},
        "preconditions_hold": {"trusted_sources": [], "freshness_s": 300},
        "change_window_open": {},
    }
    return Policy(
        digest="pol1_" + "b" * 64,
        tools={TOOL: tool},
        people={"ana": Person("ana", groups=frozenset({"approvers"}))},
        agents={name: Agent(name, roles=roles, open_limit=_UNBOUNDED) for name in AGENTS},
        rules={rule: RuleSettings(Level.HARD, given) for rule, given in settings.items()},
        limits=Limits(),
    )


def _delivered(tx: Transaction, moment: Moment) -> None:
    for card in tx.cards.stale(SURFACE, moment.now_ms, 1_000):
        message = card.message_ids or (card.proposal_id,)
        if not card.message_ids:
            note_card(tx, moment, card, message[0])
        tx.cards.put(
            replace(card, shown_version=card.wanted_version, message_ids=message, delivered=True)
        )
