"""The house that is judged: the real law over a real SQLite file, whose one tool is the probe.

What others call an action is a proposal here, and its arguments are the parameters. An action that
asks for approval says so as `approval_class`: one may only tighten what the tool's tier asks for.
What the tool is told, what was decided and how it ended is read from the stored rows.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from enum import StrEnum
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from agentbarrier import ActionRequest
from agentbarrier.probe import EffectProbe

from bot.storage.opening import open_store
from lifecycle import world as law
from lifecycle.answers import Answer, Reply
from lifecycle.document import ProposalDocument
from lifecycle.policy import ActionType, Level, Policy, Rate, RuleSettings, Source, ToolPolicy
from lifecycle.ports import Call
from lifecycle.proposal import Attention, Proposal
from lifecycle.tier import Tier
from lifecycle.workflow import Workflow
from tests.builders import a_policy, a_tool, the_agents, the_rules, the_tools
from tests.world import World, a_world

DATABASE: Final = "sqlite:///judged.db"
TOOL: Final = "sentinel_write"
AGENT, PERSON, SOURCE = "leila", "ana", "ledger-look"
WINDOW_MIN: Final = 15
_DAY_MS: Final = 86_400_000
_NEVER_MET: Final = 1_000


class Kind(StrEnum):
    """How the tool is set up; the probe is its effect in each."""

    AT_ONCE = "AUTO, no window"
    COMPENSATED = "PROPOSE, acts at once and can be taken back"
    DEFERRED = "PROPOSE, acts when the window closes"


@dataclass
class House:
    """One SQLite file, one law, and what is outside: a probe an action."""

    world: World
    folder: Path
    kind: Kind
    probes: dict[str, EffectProbe] = field(default_factory=dict)
    taken_back: list[str] = field(default_factory=list)
    answers: list[Answer] = field(default_factory=list)

    def serves(self) -> None:
        """Put the probe into the tool, at the verb that is its effect."""
        tool = self.world.tool(TOOL)
        tool.on["commit" if self.kind is Kind.DEFERRED else "execute"] = self._acts
        tool.on["roll_back"] = self._takes_back

    async def _acts(self, call: Call) -> Mapping[str, Any]:
        action = action_called(call.target, call.tool, call.parameters)
        await self.probes[action.action_id](action)
        return {"affected_records": 1}

    async def _takes_back(self, call: Call) -> Mapping[str, Any]:
        self.taken_back.append(call.target["resource_id"])
        return {}

    async def submits(self, raw: bytes) -> Answer:
        """Let the agent send these bytes."""
        answer = await self.world.workflow.submit(raw, self.world.sender(AGENT))
        self.answers.append(answer)
        await self.world.shows()
        return answer

    async def withdraws(self, proposal_id: str) -> Reply:
        """Let the agent take its proposal back, which counts before it began."""
        return await self.world.workflow.withdraw(proposal_id, self.world.sender(AGENT))

    async def stops(self, proposal_id: str) -> Reply:
        """Let a person say ❌, and wait for no tool."""
        return await self.world.workflow.reject(proposal_id, self.world.sender(PERSON), "cancel")

    async def settles(self, proposal_id: str, happened: bool) -> None:
        """Let a person write down what is known by now."""
        reply = await self.world.workflow.settle(proposal_id, self.world.sender(PERSON), happened)
        assert reply.done, reply.words
        await self.world.workflow.idle()

    async def retries(self, proposal_id: str) -> None:
        """Let a person have it tried again."""
        reply = await self.world.workflow.retry(proposal_id, self.world.sender(PERSON))
        assert reply.done, reply.words
        await self.world.workflow.idle()

    async def looked(self, proposal: Proposal, found: Mapping[str, Any]) -> None:
        """Let the source record what it saw of this proposal outside: evidence, in the trail."""
        packet = {
            "evidence_id": f"look-{proposal.proposal_id}",
            "source": SOURCE,
            "observed_at_ms": self.world.clock.now_ms(),
            "payload": {"proposal_digest": proposal.digest} | dict(found),
        }
        sender = self.world.sender(SOURCE)
        reply = await self.world.workflow.record_evidence(json.dumps(packet).encode(), sender)
        assert reply.done, reply.words

    async def unknown(self) -> list[str]:
        """Return the actions of which nobody knows whether they were done."""
        asked = [str(entry["proposal_id"]) for entry in await self.world.audit("attention")]
        rows = [await self.world.proposal(proposal_id) for proposal_id in dict.fromkeys(asked)]
        waits = [row for row in rows if row.attention is Attention.OUTCOME_UNKNOWN]
        return [action_of(row).action_id for row in waits]

    async def time_passes(self) -> None:
        """Wait for what is under way; let every window pass, and do what the jobs do."""
        await self.world.workflow.idle()
        await self.world.passes(minutes=WINDOW_MIN)

    async def restarts(self) -> None:
        """Let this process end and another one open the same file."""
        await self.world.workflow.shut_down(1)
        await self.world.store.close()
        store = self.world.store = await open_store(DATABASE, self.folder)
        old = self.world.workflow.world
        kept = ("clock", "notifier", "toolbox", "spool", "ring", "nonce", "law", "public_url")
        ports: dict[str, Any] = {name: getattr(old, name) for name in kept}
        self.world.workflow = Workflow(law.World(store=store, **ports))
        await self.world.workflow.start()
        await self.world.keeps_house()


@asynccontextmanager
async def judged(folder: Path, kind: Kind) -> AsyncIterator[House]:
    """Open the house, and let go of it at the end."""
    house = House(a_world(await open_store(DATABASE, folder), the_policy(kind)), folder, kind)
    house.serves()
    await house.world.workflow.start()
    try:
        yield house
    finally:
        await house.world.workflow.shut_down(1)
        await house.world.store.close()


def the_policy(kind: Kind) -> Policy:
    """Return the legend's policy and the one tool; no rate and no limit is met.

    The judge's amounts are JSON numbers without a currency. Sentinel would refuse each of them:
    the rule only notes it here, so that there is something to judge.
    """
    rules = the_rules()
    noted = rules["amount_within_limit"].settings
    leila = replace(the_agents()["leila"], open_limit=_NEVER_MET)
    return a_policy(
        tools=the_tools() | {TOOL: _tool(kind)},
        agents=the_agents() | {"leila": leila},
        sources={SOURCE: Source(SOURCE, terminal=True)},
        rules=rules | {"amount_within_limit": RuleSettings(Level.ADVISORY, noted)},
        orchestrator="nour",
        auto_approval_tiers=frozenset({Tier.PROPOSE}),
    )


def _tool(kind: Kind) -> ToolPolicy:
    windowed = kind is not Kind.AT_ONCE
    return a_tool(
        TOOL,
        Tier.PROPOSE if windowed else Tier.AUTO,
        ActionType.WRITE,
        reversible=windowed,
        deferred=kind is Kind.DEFERRED,
        rate=Rate(_NEVER_MET, 1),
        effects=("sentinel",),
    )


def document_of(
    house: House, run_id: str, action: ActionRequest, *, number: int = 1, limit_s: float | None
) -> bytes:
    """Return what the agent sends for its action; `number` says which proposal of it this is."""
    now_ms = house.world.clock.now_ms()
    document: dict[str, Any] = {
        "proposal_id": f"{sha256(action.action_id.encode()).hexdigest()[:24]}-{number}",
        "ts_ms": now_ms,
        "actor": AGENT,
        "tool": action.tool_name,
        "action_type": "write",
        "target": {
            "resource_type": "sentinel",
            "resource_id": action.action_id,
            "domain": "shop.example",
            "constraints": {},
        },
        "parameters": dict(action.arguments),
        "approval_class": "single" if action.requires_approval else "none",
        "justification": "A judge that others wrote asks for it",
        "task_id": run_id,
    }
    if limit_s is not None:
        document["time_window"] = {
            "valid_from_ms": now_ms,
            "valid_until_ms": now_ms + _DAY_MS,
            "max_duration_ms": round(limit_s * 1000),
        }
    return json.dumps(document).encode()


def action_called(
    target: Mapping[str, Any], tool: str, arguments: Mapping[str, Any]
) -> ActionRequest:
    """Return the action that a call stands for."""
    return ActionRequest(target["resource_id"], tool, arguments)


def action_of(proposal: Proposal) -> ActionRequest:
    """Return the action as the stored bytes have it."""
    document = ProposalDocument.of_bytes(proposal.document)
    target = document.target.model_dump(mode="json")
    return action_called(target, document.tool or "", document.parameters)
