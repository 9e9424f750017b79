"""Carry calls out: call the tool, write its answer, and make the call that this claims in turn.

It runs in the background, on the event loop. Claims come from units of the store (`claiming.py`).
"""

from __future__ import annotations

import asyncio
import logging
from copy import deepcopy
from dataclasses import dataclass
from typing import Final, assert_never

from lifecycle import permit as permits
from lifecycle.agreeing.calls import only_staged
from lifecycle.agreeing.retelling import retold
from lifecycle.agreeing.rows import begun_with, handed_back_as_told
from lifecycle.calls.calling import CallResult, call_tool
from lifecycle.calls.claiming import Claim
from lifecycle.calls.concluding import conclude
from lifecycle.calls.finishing import CALLED_OTHERWISE, Concluded
from lifecycle.calls.places import place_objection
from lifecycle.document import ProposalDocument
from lifecycle.errors import PermitRefused
from lifecycle.existing import begun
from lifecycle.located import located
from lifecycle.policy import ToolPolicy
from lifecycle.ports import Call, RowUnreadable, Tool, Transaction
from lifecycle.proposal import Execution, Outcome, Proposal, Verb
from lifecycle.quorum import configured_tier
from lifecycle.tier import Tier
from lifecycle.verdicts.fingerprints import call_print_of
from lifecycle.windows import call_limit_ms
from lifecycle.world import World

log = logging.getLogger("signoff.workflow")

#: An execution is called within this time of its beginning, or not at all. Sentinel's verdict holds
#: for half a minute until the beginning is written; as long again is for a busy machine.
_CALLED_WITHIN_MS: Final = 60_000
_TOO_LATE: Final = (
    "The store took too long to say that this was written down, or the machine slept: what was "
    "checked may not hold any more, and the window has begun long ago. Propose it again."
)
_GONE: Final = "is no longer configured"
#: A retry alone would only say the same again.
_PUT_BACK: Final = ": put it back into the config before a retry."
_ELSEWHERE: Final = (
    ", so it might take back something else, or nothing: put the former config back before a "
    "retry, which calls it as it is by then."
)
_NOT_AS_TOLD: Final = (
    "What the tool would be handed is not what the trail tells that was proposed and answered, so "
    "it was not called. Somebody changed the database. Take it back by hand."
)


@dataclass(slots=True)
class Carrier:
    """Makes every call of a tool that is made in this process."""

    world: World

    def carry(
        self, proposal: Proposal, token: str, *, answering: bool = False
    ) -> asyncio.Task[Proposal]:
        """Make a call whose intent is on disk, in a background task; return the task.

        `answering`: the proposer waits for the end, so that the message about it is held back for a
        moment.
        """
        work = self._carried(proposal, token, answering=answering)
        return self.world.background.spawn(work, calls_for=proposal.proposal_id)

    def carry_claim(self, claim: Claim | None) -> None:
        """Make the call of a claim, if there is one to make."""
        if claim is not None:
            self.carry(claim.proposal, claim.token)

    async def _carried(self, proposal: Proposal, token: str, *, answering: bool) -> Proposal:
        """Call, write the answer, and repeat for the call that it claims, until none is claimed."""
        while True:
            called = begun(proposal)
            result = await self._result(proposal, called, token)
            concluded = await self._concluded(proposal, called, result, answering=answering)
            if concluded.claim is None:
                return concluded.proposal
            proposal, token = concluded.claim.proposal, concluded.claim.token

    async def _concluded(
        self, proposal: Proposal, called: Execution, result: CallResult, *, answering: bool
    ) -> Concluded:
        def unit(tx: Transaction) -> Concluded:
            fresh = tx.proposals.get(proposal.proposal_id)
            if fresh is None:
                return Concluded(proposal)
            return conclude(tx, self.world.moment(answering=answering), fresh, called, result)

        try:
            return await self.world.write_until_taken(unit)
        except Exception as error:
            if result.outcome is Outcome.UNKNOWN:
                raise
            log.error("an answer of %s could not be judged: %s", proposal.tool, located(error))
            words = f"{proposal.tool} answered {result.outcome}, which could not be judged."
            result = CallResult(Outcome.UNKNOWN, explanation=words)
            return await self.world.write_until_taken(unit)

    async def _result(self, proposal: Proposal, called: Execution, token: str) -> CallResult:
        """Make the call and return how it ended, whatever goes wrong: a call without an end would
        stay running.

        A failure before the call means that nothing was done. A failure from then on says nothing
        about what was done.
        """
        try:
            ready = await self._ready(proposal, called, token)
        except Exception as error:
            log.error("before the call of %s: %s", proposal.tool, located(error))
            name = type(error).__name__
            return _not_called(called, f"{proposal.tool} could not be called ({name}).")
        if isinstance(ready, CallResult):
            return ready
        try:
            return await call_tool(*ready)
        except Exception as error:
            log.error("in the call of %s: %s", proposal.tool, located(error))
            name = type(error).__name__
            words = f"{proposal.tool} was called ({name}); what it did is not known."
            return CallResult(Outcome.UNKNOWN, explanation=words)

    async def _ready(
        self, proposal: Proposal, called: Execution, token: str
    ) -> CallResult | tuple[Tool, Call]:
        """Verify the permit right before the call; return what to call, or the result if nothing
        may."""
        refused = await self._objection(proposal, called, token)
        if refused == _NOT_AS_TOLD:
            return CallResult(Outcome.FAILED, explanation=refused)
        if refused is not None:
            return _not_called(called, refused)
        try:
            tool_policy = self.world.law.policy.tools[proposal.tool]
            tool = self.world.toolbox.tool(proposal.tool)
        except KeyError:
            return _not_called(called, _gone(proposal, called))
        try:
            return tool, call_of(proposal, called, token, tool_policy)
        except ValueError:
            return _not_called(called, "The stored document cannot be read.")

    async def _objection(self, proposal: Proposal, called: Execution, token: str) -> str | None:
        """Return in words why the call must not be made, by the law in force; else None.

        Another may come into force while the trail is read; then that one is asked from the
        beginning.
        """
        while True:
            law = self.world.law
            refused = self._objection_of_law(proposal, called)
            refused = refused or self._permit_objection(proposal, called, token)
            refused = refused or await self._config_objection(proposal, called, token)
            refused = refused or await place_objection(self.world, proposal, called)
            refused = refused or await self._told_objection(proposal, called)
            if self.world.law is law:
                return refused

    def _objection_of_law(self, proposal: Proposal, called: Execution) -> str | None:
        tool_policy = self.world.law.policy.tools.get(proposal.tool)
        if tool_policy is None:
            return _gone(proposal, called)
        if called.verb is not Verb.ROLL_BACK and configured_tier(tool_policy) is Tier.BLOCK:
            return f"{proposal.tool} may not be used any more."
        begun_for_ms = self.world.clock.now_ms() - called.began_at_ms
        too_late = called.verb is Verb.EXECUTE and begun_for_ms > _CALLED_WITHIN_MS
        return _TOO_LATE if too_late else None

    async def _told_objection(self, proposal: Proposal, called: Execution) -> str | None:
        """Return in words that it would be taken back otherwise than the trail tells, or that this
        cannot be read as it stands; else None. A store that fails for the moment is asked again."""
        if called.verb is not Verb.ROLL_BACK:
            return None
        try:
            told = await self.world.read_until_answered(
                f"taking {proposal.proposal_id} back",
                lambda tx: self._goes_back_as_told(tx, proposal, called),
            )
        except (RowUnreadable, ValueError, TypeError, KeyError):
            told = False
        return None if told else _NOT_AS_TOLD

    def _goes_back_as_told(self, tx: Transaction, proposal: Proposal, called: Execution) -> bool:
        """Return True if the tool is handed back what the trail tells, and not elsewhere by its
        config, which was not asked if the row says that nothing was done but staging."""
        return handed_back_as_told(tx, proposal, called) and (
            not called.stages(by_config=True)
            or self._is_called_the_same(tx, proposal)
            or only_staged(called, retold(tx.audit.without_attempts(proposal.proposal_id)))
        )

    async def _config_objection(
        self, proposal: Proposal, called: Execution, token: str
    ) -> str | None:
        """Return in words that by the config in force the tool is called otherwise than when this
        began, so that it must neither commit nor take back what was done; else None."""
        claimed = permits.read(token, self.world.ring).policy_digest
        words = f"{proposal.tool} {CALLED_OTHERWISE}"
        match called.verb:
            case Verb.EXECUTE:
                return None
            case Verb.COMMIT if claimed == self.world.law.policy.digest:
                return None  # whoever claimed it has compared, or a person has it called so
            case Verb.COMMIT:
                return None if await self._called_the_same(proposal) else f"{words}."
            case Verb.ROLL_BACK if called.stages(by_config=True):
                return None  # nothing was done, and what is discarded elsewhere is not committed
            case Verb.ROLL_BACK:
                same = await self._called_the_same(proposal)
                return None if same else f"{words}{_ELSEWHERE}"
            case _:
                assert_never(called.verb)

    async def _called_the_same(self, proposal: Proposal) -> bool:
        return await self.world.read_until_answered(
            f"the next call for {proposal.proposal_id}",
            lambda tx: self._is_called_the_same(tx, proposal),
        )

    def _is_called_the_same(self, tx: Transaction, proposal: Proposal) -> bool:
        """Return True if the config in force calls the tool as when this began, or as when a person
        had it called again; also where an older version began it, and did not tell how."""
        began, tool = begun_with(tx, proposal), self.world.law.policy.tools.get(proposal.tool)
        return began is None or (tool is not None and call_print_of(tool) == began)

    def _policy_of(self, permit: permits.Permit, called: Execution) -> str:
        """Return the policy digest that the permit must have.

        For a beginning it is the policy in force. A call for what has begun goes on under its
        permit's own.
        """
        starts = called.verb is Verb.EXECUTE
        return self.world.law.policy.digest if starts else permit.policy_digest

    def _permit_objection(self, proposal: Proposal, called: Execution, token: str) -> str | None:
        try:
            permit = permits.read(token, self.world.ring)
            permits.check(
                permit,
                digests=(proposal.digest, proposal.r3_s256),
                tool=proposal.tool,
                actor=proposal.actor.id,
                verb=called.verb.value,
                attempt=called.attempt,
                policy_digest=self._policy_of(permit, called),
                now_ms=self.world.clock.now_ms(),
            )
        except PermitRefused as error:
            return str(error)
        return None


def _gone(proposal: Proposal, called: Execution) -> str:
    """Say that the config has no such tool; whoever goes on with what has begun needs it back."""
    ends = called.verb is Verb.EXECUTE
    return f"{proposal.tool} {_GONE}{'.' if ends else _PUT_BACK}"


def call_of(proposal: Proposal, called: Execution, token: str, tool: ToolPolicy) -> Call:
    """Build the call from the stored bytes; nothing is added."""
    document = ProposalDocument.of_bytes(proposal.document)  # read anew: a tool may change it
    # A copy, like the document: whatever a tool changes in it reaches no record.
    receipt = deepcopy(called.receipt)
    takes_back = called.verb is Verb.ROLL_BACK
    if takes_back and called.still_stands and receipt is not None:
        receipt = {**receipt, "still_stands": deepcopy(list(called.still_stands))}
    asked = None if takes_back else document.time_window  # no agent cuts its roll back short
    return Call(
        verb=called.verb.value,
        proposal_id=proposal.proposal_id,
        digest=proposal.digest,
        idempotency_key=f"{proposal.proposal_id}:{called.verb}:{called.attempt}",
        tool=proposal.tool,
        target=document.target.model_dump(mode="json"),
        parameters=document.parameters,
        receipt=receipt,
        permit=token,
        limit_s=call_limit_ms(tool.timeout_s, asked) / 1000,
    )


def _not_called(called: Execution, why: str) -> CallResult:
    """Return the result of a call that was not made.

    Nothing was done, unless an earlier call is in doubt: then the outcome is unknown still.
    """
    if called.doubted:
        return CallResult(Outcome.UNKNOWN, None, f"{why} Nothing was called this time.", ())
    return CallResult(Outcome.FAILED, None, f"{why} Nothing was called.", ())
