"""What a former process left: stops on disk, calls cut off, checks that nobody waits for."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from lifecycle import agent_tools
from lifecycle.acts import Act
from lifecycle.answers import Reply, Sender
from lifecycle.claiming import Claim, reclaim
from lifecycle.concluding import Concluded, unknown
from lifecycle.freezing import frozen
from lifecycle.gating import Gatekeeper
from lifecycle.moment import Moment
from lifecycle.policy import ToolKind
from lifecycle.ports import Transaction
from lifecycle.proposal import ActorKind, Outcome, Proposal
from lifecycle.world import World, log

_PAGE = 200
_ORPHANED_MS = 5_000
#: A tool marked idempotent is called again under the same key at most twice after a crash.
_TRIES = 3


@dataclass(slots=True)
class Recoverer:
    """Takes up what was cut off; `replay` brings a spooled stop through the door."""

    world: World
    gatekeeper: Gatekeeper
    replay: Callable[[Act], Awaitable[bool]]

    def spool(self, act: Act) -> Reply:
        """Keep a stop on disk and hold its proposal at once."""
        identity = act.sender.identity
        stop: dict[str, Any] = {
            "proposal_id": act.proposal_id,
            "surface": act.sender.surface,
            "kind": identity.kind.value if identity else None,
            "id": identity.id if identity else None,
            "account": act.sender.account,
            "event_id": act.sender.event_id,
            "reason": act.reason,
            "at_ms": self.world.clock.now_ms(),
        }
        try:
            self.world.spool.keep(stop)
        except OSError:
            log.critical("a stop could be written neither to the store nor to the spool")
            self.world.held.add(act.proposal_id)
            return Reply(
                "Neither the store nor the spool can be written. The proposal is held as long as "
                "this process runs; stop it or free the disk.",
                "audit_unavailable",
                act.proposal_id,
            )
        self.world.held.add(act.proposal_id)
        return Reply(
            "Kept: the store cannot be written now; nothing executes, commits or closes, and your "
            "stop is carried out as soon as it can be.",
            None,
            act.proposal_id,
        )

    async def replay_spool(self) -> int:
        """Bring spooled stops through the door, in order, before anything else runs."""
        done = 0
        for stop in self.world.spool.kept():
            if not await self.replay(_act_of(stop)):
                return done
            self.world.spool.clear(1)
            done += 1
        if done:
            self.world.held.clear()
        return done

    async def recover(self) -> int:
        """Take up calls and checks that nobody waits for any more."""
        return await self._recover_calls() + await self._recover_checks()

    async def _recover_calls(self) -> int:
        taken, after = 0, ""
        while True:
            page = await self.world.store.read(partial(_in_flight, after))
            for proposal in page:
                if proposal.proposal_id in self.gatekeeper.carrier.calling:
                    continue
                taken += await self._recover_call(proposal)
            if len(page) < _PAGE:
                return taken
            after = page[-1].proposal_id

    async def _recover_call(self, proposal: Proposal) -> bool:
        moment = self.world.moment()
        concluded = await self.world.write(lambda tx: _recovered(tx, moment, proposal.proposal_id))
        self._carry(concluded)
        return concluded.proposal.version != proposal.version

    async def _recover_checks(self) -> int:
        moment = self.world.moment()
        page = await self.world.store.read(lambda tx: tx.proposals.unchecked(_PAGE))
        orphans = [
            p
            for p in page
            if p.proposal_id not in self.gatekeeper.gating
            and p.created_at_ms + _ORPHANED_MS <= moment.now_ms
        ]
        for proposal in orphans:
            self.world.spawn(self.gatekeeper.gate(proposal))
        return len(orphans)

    def _carry(self, concluded: Concluded) -> None:
        self.gatekeeper.carrier.carry_claim(concluded.claim)


def _act_of(stop: Any) -> Act:
    kind = ActorKind(stop["kind"]) if stop.get("kind") else None
    sender = Sender(
        surface=stop["surface"],
        kind=kind,
        id=stop.get("id"),
        account=stop.get("account", ""),
        event_id=stop.get("event_id"),
    )
    return Act(stop["proposal_id"], sender, stop.get("reason", ""))


def _in_flight(after: str, tx: Transaction) -> Sequence[Proposal]:
    return tx.proposals.in_flight(_PAGE, after)


def _recovered(tx: Transaction, moment: Moment, proposal_id: str) -> Concluded:
    """Call again what is idempotent, under the same key; of anything else the outcome is unknown."""
    proposal = tx.proposals.get(proposal_id)
    if proposal is None:
        raise KeyError(proposal_id)
    execution, tool = proposal.execution, moment.policy.tools.get(proposal.tool)
    if execution is None or execution.outcome is not Outcome.RUNNING:
        return Concluded(proposal)
    if tool is not None and tool.kind is ToolKind.AGENT:
        return Concluded(agent_tools.overdue(tx, moment, proposal))
    repeatable = tool is not None and tool.idempotent and execution.tries < _TRIES
    if repeatable and frozen(tx) is None and proposal_id not in moment.held:
        claim: Claim = reclaim(tx, moment, proposal, person=False)
        if claim.token is not None:
            return Concluded(claim.proposal, claim)
    if repeatable:
        return Concluded(proposal)
    return Concluded(unknown(tx, moment, proposal, "The process ended while the tool was running."))
