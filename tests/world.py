"""The whole law with noting tools, a fake clock and a plain notifier: verbs for stories."""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from lifecycle import world as law
from lifecycle.answers import Answer, CardPlace, Reply, Sender
from lifecycle.checking.sentinel_run import Sentinel
from lifecycle.event_kinds import EventKind
from lifecycle.heard import HeardStops
from lifecycle.permit import KeyRing
from lifecycle.policy import Policy
from lifecycle.ports import ProposalStore
from lifecycle.proposal import ActorKind, Proposal
from lifecycle.sentinel import LoadedRule
from lifecycle.workflow import Workflow
from sentinel_rules import load_rules
from tests.builders import MAIL, a_document, a_policy
from tests.fakes.clock import FakeClock
from tests.fakes.notifier import PlainNotifier
from tests.fakes.spool import MemorySpool
from tests.fakes.tools import NotingTool, NotingToolbox
from tests.roads import adopted, trail_of


@dataclass
class World:
    """A story's stage. `documents` counts ids so that each submission may have its own."""

    workflow: Workflow
    store: ProposalStore
    clock: FakeClock
    notifier: PlainNotifier
    toolbox: NotingToolbox
    spool: MemorySpool
    ids: itertools.count[int] = field(default_factory=lambda: itertools.count(1))
    policies: itertools.count[int] = field(default_factory=lambda: itertools.count(1))

    async def submits(
        self, base: Mapping[str, Any] = MAIL, /, *, by: str = "leila", **changes: Any
    ) -> Answer:
        """Submit a document made now, under an id of its own unless one is given."""
        changes.setdefault("proposal_id", f"p{next(self.ids)}")
        changes.setdefault("ts_ms", self.clock.now_ms())
        document = a_document(base, **({"actor": by} | changes))
        answer = await self.workflow.submit(json.dumps(document).encode(), self.sender(by))
        await self.shows()
        return answer

    async def observes(self, value: object, evidence_id: str = "e1") -> None:
        """Record what the one source sees now: `ok` is this value."""
        packet = {
            "evidence_id": evidence_id,
            "source": "crm-sensor",
            "observed_at_ms": self.clock.now_ms(),
            "payload": {"ok": value},
        }
        source = self.sender("crm-sensor")
        assert (await self.workflow.record_evidence(json.dumps(packet).encode(), source)).done

    async def shows(self) -> None:
        """Deliver cards and let what waited for them begin, until nothing moves."""
        while await self.notifier.deliver(self.store, self.clock.now_ms()):
            await self.workflow.open_ready()
            await self.workflow.idle()

    async def approves(self, person: str, proposal_id: str, reason: str = "") -> Reply:
        """Approve by command."""
        reply = await self.workflow.approve(proposal_id, self.sender(person), reason)
        await self.workflow.idle()
        return reply

    async def rejects(self, person: str, proposal_id: str, reason: str = "not now") -> Reply:
        """Reject or roll back by command."""
        reply = await self.workflow.reject(proposal_id, self.sender(person), reason)
        await self.workflow.idle()
        return reply

    async def reacts(self, person: str, proposal_id: str, emoji: str) -> Reply:
        """React on the current card."""
        place = CardPlace("terminal", f"m-{proposal_id}")
        verb = {"✅": self.workflow.approve, "❌": self.workflow.reject}[emoji]
        reply = await verb(proposal_id, self.sender(person), card=place)
        await self.workflow.idle()
        return reply

    async def passes(self, *, minutes: float = 0, seconds: float = 0) -> None:
        """Let time pass, then do what the jobs do."""
        self.clock.advance(minutes * 60 + seconds)
        await self.keeps_house()

    async def keeps_house(self) -> None:
        """Run every job once."""
        workflow = self.workflow
        for job in (
            workflow.recover,
            workflow.expire_due,
            workflow.open_ready,
            workflow.close_due,
            workflow.remind,
        ):
            await job()
        await workflow.idle()
        await self.shows()

    async def proposal(self, proposal_id: str) -> Proposal:
        """Return the proposal as the store has it."""
        found = await self.store.read(lambda tx: tx.proposals.get(proposal_id))
        assert found is not None, f"no proposal {proposal_id}"
        return found

    async def trail(self, proposal_id: str) -> list[str]:
        """Return the kinds of the proposal's audit entries, oldest first; cards are left out."""
        entries = await self.store.read(lambda tx: trail_of(tx, proposal_id))
        return [entry.event.kind for entry in entries if entry.event.kind != EventKind.CARD_POSTED]

    async def audit(self, kind: str) -> list[Mapping[str, Any]]:
        """Return all audit entries of one kind."""
        entries = await self.store.read(lambda tx: tx.audit.exported(0, 10_000))
        return [entry for entry in entries if entry["kind"] == kind]

    def tool(self, name: str) -> NotingTool:
        """Return the noting tool of this name."""
        return self.toolbox.noting(name)

    def sender(self, name: str, event_id: str | None = None) -> Sender:
        """Return `name` as the terminal would see it; a stranger where the config has no such."""
        policy = self.workflow.policy
        kinds = (
            (ActorKind.PERSON, policy.people),
            (ActorKind.AGENT, policy.agents),
            (ActorKind.SOURCE, policy.sources),
        )
        for kind, known in kinds:
            if name in known:
                return Sender("terminal", kind, name, account=name, event_id=event_id)
        return Sender("terminal", None, None, account=name, event_id=event_id)

    async def adopts(self, **changes: Any) -> None:
        """Put a policy with `changes` in force, under a digest of its own."""
        policy = replace(self.workflow.policy, **changes)
        policy = replace(policy, digest=f"pol1_{next(self.policies):064d}")
        await adopted(self.workflow, policy, an_unhurried_sentinel(policy))
        await self.workflow.idle()
        await self.shows()

    async def restarts(self) -> None:
        """Make a new workflow over the same store, as a new process would."""
        old = self.workflow.world
        fresh = replace(old, held=set(), heard=HeardStops(), ending=False)
        self.workflow = Workflow(fresh)
        await self.workflow.start()
        await self.workflow.idle()
        await self.shows()


_LOADED: dict[str, tuple[LoadedRule, ...]] = {}


def an_unhurried_sentinel(policy: Policy) -> Sentinel:
    """Return the nine rules with time enough: the machine of the tests may be busy otherwise."""
    return Sentinel(rules_of(policy), limit_s=30.0)


def rules_of(policy: Policy) -> tuple[LoadedRule, ...]:
    """Return the rules that a policy names; each set is loaded once, which looks through every
    package that is installed."""
    key = repr(sorted(policy.rules.items()))
    if key not in _LOADED:
        _LOADED[key] = load_rules(policy.rules)
    return _LOADED[key]


def a_world(store: ProposalStore, policy: Policy | None = None) -> World:
    """Set the stage over `store`, at the legend's noon."""
    policy = policy or a_policy()
    clock, notifier = FakeClock(), PlainNotifier()
    toolbox, spool = NotingToolbox(), MemorySpool()
    nonces = (f"{number:032x}" for number in itertools.count(1))
    workflow = Workflow(
        law.World(
            store=store,
            clock=clock,
            notifier=notifier,
            toolbox=toolbox,
            spool=spool,
            ring=KeyRing({"k1": b"k" * 32}, "k1"),
            nonce=lambda: next(nonces),
            law=law.Law(policy, an_unhurried_sentinel(policy)),
            public_url="http://127.0.0.1:8080",
        )
    )
    return World(workflow, store, clock, notifier, toolbox, spool)
