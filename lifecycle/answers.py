"""These values cross the doors of the workflow: they say who speaks, and what is answered."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from lifecycle.codes import Retry, retry_of
from lifecycle.errors import Fault, GovernanceError, Refused, ReviewRefused
from lifecycle.policy import Level, Policy
from lifecycle.proposal import ActorKind, Identity
from lifecycle.text.masking import mask_text


@dataclass(frozen=True, slots=True)
class Sender:
    """Whoever speaks on a surface, as the surface itself has proved who they are.

    - `kind` and `id` are those of the config; both are None for an account that no entry claims
    - `account` is what the surface knows them by (for the audit), `event_id` the platform's id of
      this event, `place` where an answer belongs (channel, thread), opaque to the law
    - `proof` says whether the account is still theirs under another policy; None if that cannot be
      asked any more
    - `heard_at_ms` is when the surface took this event, ms UTC, which may be long before it is
      processed; None for what is processed at once, or was found on a card
    - `heir` is who has the account by now, if that is somebody else than when it was heard
    """

    surface: str
    kind: ActorKind | None
    id: str | None
    account: str = ""
    event_id: str | None = None
    place: str | None = None
    proof: Callable[[Policy], bool] | None = field(default=None, compare=False, repr=False)
    heard_at_ms: int | None = field(default=None, compare=False)
    heir: Identity | None = field(default=None, compare=False)

    @property
    def identity(self) -> Identity | None:
        """The identity of the config, None for a stranger."""
        return Identity(self.kind, self.id) if self.kind and self.id else None

    def is_known_to(self, policy: Policy) -> bool:
        """Return whether they are who they were taken for under this policy too.

        While a body, a file or a platform was waited for, a new config may have taken the account
        or the token away, or given it to somebody else.
        """
        return self.proof is None or self.proof(policy)

    def as_heir(self) -> Sender | None:
        """Return the heir as the sender, None if there is none. A stop counts also if only the heir
        may give it, and not who had the account when it was heard."""
        if self.heir is None:
            return None
        return replace(self, kind=self.heir.kind, id=self.heir.id, heir=None)

    def said_ms(self, now_ms: int) -> int:
        """Return when they said it, ms UTC: when it was heard, or else now."""
        return now_ms if self.heard_at_ms is None else min(now_ms, self.heard_at_ms)


@dataclass(frozen=True, slots=True)
class CardPlace:
    """The message on which a signal was given, so that only the current card counts.

    `shown_version` is the least version that it showed then; None if nobody noted it, and what it
    shows now counts. `heard_at_ms` is when the surface took the signal, if its event id does not
    tell.
    """

    surface: str
    message_id: str
    shown_version: int | None = None
    heard_at_ms: int | None = None


class AuthorityOutcome(StrEnum):
    """The three outcomes of seed 004."""

    ALLOW = "allow"
    ASK = "ask"
    DENY = "deny"


@dataclass(frozen=True, slots=True)
class Answer:
    """What a proposer is told: the answer object of design section 8."""

    proposal_id: str | None
    state: str | None
    tier: str | None
    outcome: AuthorityOutcome
    reason: str | None = None
    explanation: str = ""
    digest: str | None = None
    deduplicated: bool = False
    differs: Sequence[str] = ()
    errors: Sequence[Fault] = ()
    retry_after_s: int | None = None
    result: Any = None
    execution: Mapping[str, Any] | None = None

    def as_json(self) -> dict[str, Any]:
        """Return the object, every key present."""
        return {
            "proposal_id": self.proposal_id,
            "state": self.state,
            "tier": self.tier,
            "outcome": self.outcome.value,
            "reason": self.reason,
            "explanation": self.explanation,
            "digest": self.digest,
            "deduplicated": self.deduplicated,
            "differs": [mask_text(path) for path in self.differs],
            "errors": [fault.as_json() for fault in self.errors],
            "retry": retry_after(self.reason, self.errors).value,
            "retry_after_s": self.retry_after_s,
            "result": self.result,
            "execution": dict(self.execution) if self.execution is not None else None,
        }

    @property
    def done(self) -> bool:
        """True if nothing went wrong so far: not refused, taken back, failed, or in doubt."""
        outcome = (self.execution or {}).get("outcome")
        failed = self.state == "rolled_back" or outcome in ("failed", "unknown")
        return not self.refused and not failed

    @property
    def refused(self) -> bool:
        """True if no proposal stands behind this answer, or a rejected one."""
        return self.state in (None, "rejected")


def retry_after(reason: str | None, errors: Sequence[Fault]) -> Retry:
    """Return whether the same may be sent again after this reason and these errors.

    The reason is a rule's id if the content is at fault. If each rule that objects only ran out of
    time, or waits for its hours, nothing has to be changed.
    """
    hard = [fault for fault in errors if fault.level == Level.HARD]
    if reason in {fault.rule for fault in hard} and all(map(_passes_by_itself, hard)):
        return Retry.LATER
    return retry_of(reason or "")


def _passes_by_itself(fault: Fault) -> bool:
    return Retry.LATER in (retry_of(fault.code), retry_of(fault.rule or ""))


def refusal(error: Refused, outcome: AuthorityOutcome = AuthorityOutcome.DENY) -> Answer:
    """Return the answer to a document that was refused before a proposal arose."""
    return Answer(
        proposal_id=None,
        state=None,
        tier=None,
        outcome=outcome,
        reason=error.code,
        explanation=str(error),
        errors=error.faults,
        retry_after_s=error.retry_after_s,
    )


@dataclass(frozen=True, slots=True)
class Reply:
    """What a person is told after a command or a signal; `code` is None if it was done.

    `passing`: what stands in the way passes by itself, and the same signal counts then.
    """

    words: str
    code: str | None = None
    proposal_id: str | None = None
    state: str | None = None
    passing: bool = False

    @property
    def done(self) -> bool:
        """True if the act had its effect."""
        return self.code is None

    @classmethod
    def of_error(cls, error: GovernanceError, proposal_id: str | None = None) -> Reply:
        """Return the reply for an error, with its words and its code."""
        passing = isinstance(error, ReviewRefused) and error.passing
        return cls(str(error), error.code, proposal_id, passing=passing)
