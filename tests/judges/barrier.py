"""Signoff as AgentBarrier drives it: an agent's run is its proposals, a decision a person's word.

- A reviewer changes no arguments: the ❌ says what is wanted, the agent proposes that anew, and the
  person approves what then stands on the card.
- Replaying is sending the same bytes again, to another process over the same file.
- Reconciling is a look outside by a source, on record as evidence, and a person's word where the
  look was clear.
- Cancelling is withdrawing, and a person's ❌ where it has begun; neither ends a call that is under
  way (`test_agentbarrier.py` says what becomes of it).
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence

from agentbarrier import (
    ActionRequest,
    AgentAdapter,
    AuditReceipt,
    Capability,
    ReconciliationEvidence,
    ReconciliationStatus,
    RunHandle,
    RunOutcome,
    RunStatus,
    action_digest,
)
from agentbarrier.adapter import validate_actions, validate_timeout
from agentbarrier.errors import AdapterContractError
from agentbarrier.probe import EffectProbe

from lifecycle.answers import Reply
from lifecycle.proposal import Attention, Proposal
from lifecycle.state import State
from tests.judges.house import PERSON, House, action_of, document_of
from tests.judges.reading import outcome_of, receipts_of

#: All that the judge knows but two; why not those, says the test.
HELD = frozenset(Capability) - {Capability.CANCELLATION, Capability.DELEGATION}


class SignoffRun(RunHandle):
    """Some actions of an agent; `ids` are the proposals of each, the one that counts last."""

    def __init__(
        self,
        house: House,
        run_id: str,
        actions: tuple[ActionRequest, ...],
        effect: EffectProbe,
        limit_s: float | None,
        sent: dict[str, list[bytes]] | None = None,
    ) -> None:
        self.house, self.run_id, self.actions = house, run_id, actions
        self.effect, self.limit_s = effect, limit_s
        self.sent: dict[str, list[bytes]] = sent or {}
        self.ids: dict[str, list[str]] = {action.action_id: [] for action in actions}
        for action in actions:
            house.probes[action.action_id] = effect
        self.begun = asyncio.create_task(self._begins())

    async def _begins(self) -> None:
        async with asyncio.TaskGroup() as together:
            for action in self.actions:
                together.create_task(self._proposes_all(action))
        await self.house.time_passes()

    async def _proposes_all(self, action: ActionRequest) -> None:
        """Send what was sent before, byte for byte, or the first document of an action."""
        before = list(self.sent.get(action.action_id, ()))
        for raw in before:
            await self._sends(action.action_id, raw)
        if not before:
            await self.proposes(action)
        else:
            await self._goes_on(action, await self._row(action.action_id))

    async def _goes_on(self, action: ActionRequest, row: Proposal) -> None:
        """Where it is known that nothing was done, and only there, it may be done again."""
        if row.reason == "did_not_happen":
            await self.proposes(action)
        elif row.attention is Attention.COMMIT_FAILED:
            await self.house.retries(row.proposal_id)

    async def proposes(self, action: ActionRequest) -> None:
        """Send a document of an action under an id that was not used."""
        sent = self.sent.setdefault(action.action_id, [])
        number = len(sent) + 1
        raw = document_of(self.house, self.run_id, action, number=number, limit_s=self.limit_s)
        sent.append(raw)
        await self._sends(action.action_id, raw)

    async def _sends(self, action_id: str, raw: bytes) -> None:
        ids = self.ids[action_id]
        ids.append(json.loads(raw)["proposal_id"])  # a call may be under way before the answer is
        answer = await self.house.submits(raw)
        if answer.proposal_id is None:
            raise AdapterContractError(f"refused: {answer.reason}: {answer.explanation}")
        ids[-1] = answer.proposal_id  # that of the one which stands, where it is not the first

    async def wait_for_pending(self, timeout_seconds: float) -> tuple[ActionRequest, ...]:
        async with asyncio.timeout(timeout_seconds):
            await asyncio.shield(self.begun)
        rows = [row for row in await self._rows() if row.state is State.SENTINEL_APPROVED]
        return tuple(action_of(row) for row in rows)

    async def approve(self, action_id: str, replacement: ActionRequest | None = None) -> None:
        if replacement is not None:
            await self.reject(action_id, f"Propose {dict(replacement.arguments)}")
            await self.proposes(replacement)
        _done(await self.house.world.approves(PERSON, self.ids[action_id][-1]))

    async def reject(self, action_id: str, reason: str | None = None) -> None:
        ids = self.ids[action_id]
        _done(await self.house.world.rejects(PERSON, ids[-1], reason or "no"))

    async def cancel(self) -> None:
        for proposal_id in self._all_ids():
            if not (await self.house.withdraws(proposal_id)).done:
                await self.house.stops(proposal_id)

    async def wait(self, timeout_seconds: float) -> RunOutcome:
        try:
            async with asyncio.timeout(timeout_seconds):
                await asyncio.shield(self.begun)
                await self.house.time_passes()
        except TimeoutError:
            return RunOutcome(RunStatus.FAILED, "it is still under way")
        outcome = outcome_of(await self._rows())
        return outcome or RunOutcome(RunStatus.FAILED, "it waits for people")

    async def reconcile(self, action_id: str, timeout_seconds: float) -> ReconciliationEvidence:
        row = await self._row(action_id)
        if row.attention is not Attention.OUTCOME_UNKNOWN:
            raise AdapterContractError(f"{row.proposal_id} is not unknown")
        seen, found = await self._looks(row, timeout_seconds)
        told = {"found": found, "detail": seen.detail, "observed": [*seen.observed_action_digests]}
        await self.house.looked(row, told)
        match seen.status:
            case ReconciliationStatus.COMMITTED:
                await self.house.settles(row.proposal_id, happened=True)
            case ReconciliationStatus.NOT_COMMITTED:
                await self.house.settles(row.proposal_id, happened=False)
            case ReconciliationStatus.CONFLICT | ReconciliationStatus.UNAVAILABLE:
                pass  # nobody knows, so nobody says anything
        return seen

    async def _looks(self, row: Proposal, limit_s: float) -> tuple[ReconciliationEvidence, str]:
        """Look for what the stored bytes name, outside, for so long at most."""
        action = action_of(row)
        try:
            async with asyncio.timeout(limit_s):
                seen = await self.effect.reconcile(action)
        except TimeoutError:
            words = f"the look outside timed out after {limit_s:g} s"
            status, digest = ReconciliationStatus.UNAVAILABLE, action_digest(action)
            late = ReconciliationEvidence(action.action_id, status, digest, detail=words)
            return late, "timed_out"
        return seen, seen.status.value

    async def replay(self) -> RunHandle:
        await self.house.restarts()
        return type(self)(
            self.house, self.run_id, self.actions, self.effect, self.limit_s, self.sent
        )

    async def audit_receipts(self) -> tuple[AuditReceipt, ...]:
        ids = self._all_ids()
        return await self.house.world.store.read(lambda tx: receipts_of(tx, self.run_id, ids))

    async def close(self) -> None:
        await asyncio.gather(self.begun, return_exceptions=True)
        for proposal_id in self._all_ids():
            await self.house.withdraws(proposal_id)
        await self.house.world.workflow.idle()

    def _all_ids(self) -> list[str]:
        return [proposal_id for ids in self.ids.values() for proposal_id in ids]

    async def _row(self, action_id: str) -> Proposal:
        return await self.house.world.proposal(self.ids[action_id][-1])

    async def _rows(self) -> list[Proposal]:
        return [await self._row(action.action_id) for action in self.actions]


class SignoffAdapter(AgentAdapter):
    """The product as it is."""

    name = "signoff"
    capabilities = HELD
    run: type[SignoffRun] = SignoffRun

    def __init__(self, house: House) -> None:
        self.house = house

    async def begin(
        self,
        *,
        run_id: str,
        actions: Sequence[ActionRequest],
        effect: EffectProbe,
        timeout_seconds: float | None = None,
    ) -> SignoffRun:
        limit_s = validate_timeout(timeout_seconds)
        return self.run(self.house, run_id, validate_actions(actions), effect, limit_s)


def _done(reply: Reply) -> None:
    if not reply.done:
        raise AdapterContractError(f"{reply.code}: {reply.words}")
