"""Reads, admits, judges and answers a document; `Workflow.submit` and `check` call it."""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from dataclasses import dataclass, replace

from lifecycle.admitting.admission import admit, ask_of_evidence, dry_run, refuse
from lifecycle.admitting.enrolling import unsaved
from lifecycle.admitting.enveloping import accept_any
from lifecycle.answers import Answer, AuthorityOutcome, Sender, refusal
from lifecycle.ending import answer_of, end_key, judged_words, verdict_json
from lifecycle.errors import Fault, Refused
from lifecycle.first_gate.gate import Accepted
from lifecycle.first_gate.reading import read_object
from lifecycle.judging.gatekeeper import Gatekeeper, NotAtOnce
from lifecycle.llm.ingest import Question
from lifecycle.moment import Moment
from lifecycle.opening import Opening
from lifecycle.ports import RowRefused, StoreUnavailable, Transaction
from lifecycle.proposal import Proposal
from lifecycle.proposers import proposer_of
from lifecycle.questions import ask
from lifecycle.sentinel import Facts
from lifecycle.state import State
from lifecycle.stops.spooling import REFUSED_ROW
from lifecycle.text.masking import mask_secrets
from lifecycle.verdicts.fingerprints import in_force
from lifecycle.verdicts.judge import hard_words, raised_by
from lifecycle.world import World

log = logging.getLogger("signoff.workflow")

#: Documents larger than this are read off the event loop.
_SMALL_BYTES = 16_384
#: How often a document is read anew because the policy changed meanwhile.
_FRESH_POLICIES = 5
_REPLACED = "The policy is just being replaced; send it again."
_A_QUESTION = "It would be put to people as a question; a refinement plan is never executed."


class _Replaced(Exception):
    """The policy under which a document was read is not in force any more; read it again."""


@dataclass(frozen=True, slots=True)
class Admitted:
    """What the first unit made of a document: a proposal, or the answer if none arose.

    `opening` is set if the unit judged the proposal at once.
    """

    made: Proposal | Answer
    facts: Facts | None = None
    opening: Opening | None = None


@dataclass(slots=True)
class Intake:
    """The way from bytes to a judged proposal."""

    world: World
    gatekeeper: Gatekeeper

    async def check(self, raw: bytes, sender: Sender) -> Answer:
        """Say what `submit` would answer now; no proposal is stored or shown."""
        moment = self.world.moment()
        try:
            accepted = await self._accepted(raw, sender, moment)
            if isinstance(accepted, Question):
                return Answer(None, None, None, AuthorityOutcome.ALLOW, explanation=_A_QUESTION)
            known = await self._known(accepted, sender, moment, raw)
        except Refused as error:
            return refusal(error)
        return known or await self._dry_verdict(accepted, sender, moment)

    async def _known(
        self, accepted: Accepted, sender: Sender, moment: Moment, raw: bytes
    ) -> Answer | None:
        """Return what can be said without a verdict; None if the rules would be asked."""
        if not accepted.document.preconditions:
            return await self.world.store.read(lambda tx: dry_run(tx, moment, accepted, sender))

        def asked(tx: Transaction) -> Answer | None:
            return ask_of_evidence(tx, self.world.moment(answering=True), accepted, sender, raw)

        try:
            return await self.world.write(asked)
        except StoreUnavailable as error:
            return refusal(_no_audit(_whose_fault(error)))

    async def submit(self, raw: bytes, sender: Sender) -> Answer:
        """Read, judge and store one document under one policy; begin anew if that is replaced."""
        for _ in range(_FRESH_POLICIES):
            try:
                return await self._submitted(raw, sender)
            except _Replaced:
                continue
        return refusal(_no_audit(_REPLACED))

    async def _submitted(self, raw: bytes, sender: Sender) -> Answer:
        moment = self.world.moment(answering=True)
        try:
            accepted = await self._accepted(raw, sender, moment)
            if isinstance(accepted, Question):
                return await self._asked(accepted, sender, moment)
        except Refused as error:
            return await self.refused(error, sender, raw)
        except StoreUnavailable as error:
            return refusal(_no_audit(_whose_fault(error)))
        try:
            admitted = await self._admitted(moment, accepted, sender, raw)
        except StoreUnavailable as error:
            return refusal(_no_audit(_whose_fault(error)))
        if isinstance(admitted.made, Answer):
            return admitted.made
        return await self._judged(admitted.made, admitted)

    async def _judged(self, proposal: Proposal, admitted: Admitted) -> Answer:
        """Answer with what became of a proposal on record, even if the store fails from now on."""
        opening = admitted.opening
        try:
            if opening is not None:
                return answer_of(await self.gatekeeper.follow_judged(opening))
            return answer_of(await self.gatekeeper.gate(proposal, admitted.facts, answering=True))
        except StoreUnavailable:
            words = "It is on record and goes on as soon as the store can be written again."
            return replace(answer_of(proposal), explanation=words)

    async def _asked(self, question: Question, sender: Sender, moment: Moment) -> Answer:
        """Put a refinement plan to people as a question; it is never executed (section 9)."""
        return await self.world.write(lambda tx: ask(tx, moment, question, sender))

    async def _accepted(self, raw: bytes, sender: Sender, moment: Moment) -> Accepted | Question:
        if self.world.ending:
            raise _no_audit("Signoff is stopping and takes no new work; send it again later.")
        proposer_of(sender, moment)

        def read() -> Accepted | Question:
            return accept_any(read_object(raw), moment.policy)

        return read() if len(raw) <= _SMALL_BYTES else await asyncio.to_thread(read)

    async def _admitted(
        self, moment: Moment, accepted: Accepted, sender: Sender, raw: bytes
    ) -> Admitted:
        """Admit the document, and judge it in the same unit if the rules can answer at once."""
        try:
            return await self.world.write(
                lambda tx: self._admit(tx, moment, accepted, sender, raw, judges=True)
            )
        except NotAtOnce as failed:
            log.error("no verdict at once: %s", failed)
            return await self.world.write(
                lambda tx: self._admit(tx, moment, accepted, sender, raw, judges=False)
            )

    def _admit(
        self,
        tx: Transaction,
        moment: Moment,
        accepted: Accepted,
        sender: Sender,
        raw: bytes,
        *,
        judges: bool,
    ) -> Admitted:
        now = self.world.moment(answering=True)
        if now.policy is not moment.policy or not in_force(tx, now):
            # Else a document read under one policy would be admitted, and begun, under the other.
            raise _Replaced
        proposal = admit(tx, moment, accepted, sender, raw)
        if isinstance(proposal, Answer):
            return Admitted(proposal)
        facts = self.gatekeeper.facts(tx, now, proposal, accepted.tool, executing=True)
        if not judges:
            return Admitted(proposal, facts)
        return Admitted(proposal, facts, self.gatekeeper.judge_at_once(tx, now, proposal, facts))

    async def _dry_verdict(self, accepted: Accepted, sender: Sender, moment: Moment) -> Answer:
        proposal = unsaved(accepted, sender, moment)
        checked = await self.gatekeeper.check(proposal, executing=False)
        if checked is None:  # its tool has left the config meanwhile
            return refusal(_no_audit(_REPLACED))
        verdict = checked[1]
        raised = raised_by(moment.policy, proposal, verdict)
        return Answer(
            proposal_id=None,
            state=None,
            tier=raised.tier.value,
            result={"verdict": mask_secrets(verdict_json(verdict)), "quorum": raised.quorum},
            outcome=AuthorityOutcome.ALLOW,
            reason=verdict.reason,
            explanation=hard_words(verdict) or f"{judged_words(verdict)}.",
            digest=accepted.digest,
            errors=verdict.faults(),
        )

    async def refused(self, error: Refused, sender: Sender, raw: bytes) -> Answer:
        """Write the audit event of a refused document, and answer."""
        moment = self.world.moment()
        try:
            return await self.world.write(lambda tx: refuse(tx, moment, error, sender, raw))
        except StoreUnavailable:
            return refusal(error)

    async def told(self, answer: Answer) -> Answer:
        """Note that the proposer was told of the end by this very answer, so that the message about
        it, which was held back in the outbox, is not sent. Returns the answer.

        If that cannot be noted, the proposer is told twice rather than never.
        """
        if answer.deduplicated or answer.proposal_id is None or not _ended(answer):
            return answer
        now_ms = self.world.clock.now_ms()
        key = end_key(answer.proposal_id)
        with suppress(StoreUnavailable):
            await self.world.write(lambda tx: tx.outbox.delivered(key, now_ms))
        return answer


def _ended(answer: Answer) -> bool:
    return answer.state is not None and State(answer.state).terminal


def _whose_fault(error: StoreUnavailable) -> str | None:
    """Return words if the database refuses this document alone, None if it takes nothing. They
    leave out the names of tables."""
    refused = f"The database refuses a row of this. {REFUSED_ROW}"
    return refused if isinstance(error, RowRefused) else None


def _no_audit(words: str | None = None) -> Refused:
    return Refused(
        [
            Fault(
                "audit_unavailable",
                suggestion=words
                or "The audit trail cannot be written, so nothing is done. Try again later.",
            )
        ]
    )
