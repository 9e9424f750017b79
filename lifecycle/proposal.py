"""A proposal is one frozen record of its whole life, which the store keeps as one row."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, field, fields
from enum import StrEnum
from typing import Any, Final

from lifecycle.document import ProposalDocument
from lifecycle.state import State
from lifecycle.tier import Puller, Tier
from lifecycle.verdict import Verdict


class ActorKind(StrEnum):
    """Who can cause something (design section 2, `decided_by.kind`)."""

    PERSON = "person"
    SENTINEL = "sentinel"
    CLOCK = "clock"
    AGENT = "agent"
    TOOL = "tool"
    SOURCE = "source"


@dataclass(frozen=True, slots=True)
class Identity:
    """Somebody or something that can act, by kind and id of the config; never by a display name."""

    kind: ActorKind
    id: str

    def as_json(self) -> dict[str, str]:
        """Return `{kind, id}`."""
        return {"kind": self.kind.value, "id": self.id}

    def __str__(self) -> str:
        """Return `kind id`, as people read it."""
        return f"{self.kind} {self.id}"


SENTINEL = Identity(ActorKind.SENTINEL, "sentinel")
CLOCK = Identity(ActorKind.CLOCK, "clock")


class Verb(StrEnum):
    """What a tool can be called for."""

    EXECUTE = "execute"
    COMMIT = "commit"
    ROLL_BACK = "roll_back"


class Outcome(StrEnum):
    """How the last call of a tool ended, or that it is still running."""

    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    UNKNOWN = "unknown"


class Attention(StrEnum):
    """Why a person must look at a proposal."""

    OUTCOME_UNKNOWN = "outcome_unknown"
    ROLLBACK_INCOMPLETE = "rollback_incomplete"
    COMMIT_FAILED = "commit_failed"
    CARD_UNDELIVERED = "card_undelivered"
    ENVELOPE_EXCEEDED = "envelope_exceeded"
    OVERDUE = "overdue"


#: While one of these stands the closing job leaves the proposal alone (design section 7).
STOPS_CLOSING = frozenset(
    {
        Attention.OUTCOME_UNKNOWN,
        Attention.ROLLBACK_INCOMPLETE,
        Attention.COMMIT_FAILED,
        Attention.ENVELOPE_EXCEEDED,
    }
)


@dataclass(frozen=True, slots=True)
class KeptStop:
    """A ❌ that came while a call ran, or its outcome was unknown: carried out once it can be."""

    person: str
    reason: str
    at_ms: int
    surface: str


@dataclass(frozen=True, slots=True)
class Cause:
    """In whose name something ends, and why: `reason` is the code, `words` are for people."""

    by: Identity
    puller: Puller
    reason: str
    words: str


@dataclass(frozen=True, slots=True)
class Execution:
    """The last call of the tool, and the window (both times None if there is none). Times in ms
    UTC.

    - `receipt`: what execute returned
    - `tries`: how often the verb was called under the same idempotency key
    - `early`: the orchestrator opened the window, so that a person's ✅ may close it
    - `by_agent`: the agent acts itself, so that its receipt is awaited and no tool's
    - `deferred`: execute only stages and commit carries out, whatever the config says by now; None
      in older rows, for which the config is asked
    - `doubted`: the verb was called before, and nobody knows what came of that
    """

    verb: Verb
    attempt: int
    outcome: Outcome
    receipt: Mapping[str, Any] | None = None
    window_opens_at_ms: int | None = None
    window_closes_at_ms: int | None = None
    tries: int = 1
    began_at_ms: int = 0
    early: bool = False
    by_agent: bool = False
    deferred: bool | None = None
    doubted: bool = False
    still_stands: tuple[Any, ...] = ()
    explanation: str = ""
    cause: Cause | None = None

    @property
    def windowed(self) -> bool:
        """True if a rollback window belongs to this execution."""
        return self.window_closes_at_ms is not None

    def stages(self, *, by_config: bool) -> bool:
        """Return whether a commit has to follow; `by_config` is what its tool would do by now."""
        if self.by_agent:
            return False
        return by_config if self.deferred is None else self.deferred


@dataclass(frozen=True)
class Proposal:
    """One row: what was proposed (bytes and digests), how it stands, and who decided.

    - `actor`: the proposer
    - `document`: the canonical bytes that were accepted
    - `deadline_ms`: from this moment on it counts as expired, unless it is executing
    - `opener`: who opened the gate, while it has not begun (frozen, too early, card undelivered…)
    - `checked_policy_digest`: the policy that judged it last. `last_judged` appends "+evidence" on
      purpose: the value then differs from every policy's digest, and the proposal is judged again
    - `permit_waits`: an agent holds a permit that it has not redeemed
    - `masked`: the document held a credential and was replaced by a masked text
    - `anew_version`: the version in which approvals last became void, or verdict, tier, quorum or
      window changed: a card of an earlier version does not show what is decided on
    """

    proposal_id: str
    version: int
    state: State
    tier: Tier
    tool_tier: Tier
    tool: str
    actor: Identity
    digest: str
    content_digest: str
    likeness_digest: str
    policy_digest: str
    document: bytes
    r3_document: bytes
    r3_s256: str
    surface: str
    created_at_ms: int
    deadline_ms: int
    quorum: int
    quorum_needs_people: bool = False
    valid_from_ms: int | None = None
    task_id: str | None = None
    place: str | None = None
    verdict: Verdict | None = None
    reason: str | None = None
    explanation: str = ""
    decided_by: Identity | None = None
    decided_at_ms: int | None = None
    opener: Identity | None = None
    opener_puller: Puller | None = None
    waiting_for: str | None = None
    execution: Execution | None = None
    attention: Attention | None = None
    attention_why: str = ""
    kept_stop: KeptStop | None = None
    reminded_at_ms: int | None = None
    reason_due_ms: int | None = None
    window_s: int = 0
    failures: int = 0
    retry_at_ms: int | None = None
    checked_policy_digest: str | None = None
    resembles_refused: bool = False
    frame: Mapping[str, Any] | None = None
    permit_waits: bool = False
    masked: bool = False
    anew_version: int = 0
    extra: Mapping[str, Any] = field(default_factory=dict)

    @property
    def terminal(self) -> bool:
        """True if nothing can follow."""
        return self.state.terminal

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> Proposal:
        """Return the proposal of these fields, as a store reads them back at every move.

        It equals `Proposal(**values)`, which sets each of forty-five fields by a call of its own.
        Raises TypeError for a field too many or a required one too few.
        """
        made = object.__new__(cls)
        made.__dict__.update(_OPTIONAL, extra={})
        made.__dict__.update(values)
        if made.__dict__.keys() != _FIELDS:
            raise TypeError(f"no proposal has just the fields {sorted(values)}")
        return made

    def but(self, **changes: Any) -> Proposal:
        """Return a copy with these fields changed: `dataclasses.replace`, at a tenth of its cost.

        There is one in every unit. Raises TypeError for a field that a proposal does not have.
        """
        if not _FIELDS.issuperset(changes):
            raise TypeError(f"a proposal has no {sorted(changes.keys() - _FIELDS)}")
        copy = object.__new__(type(self))
        copy.__dict__.update(self.__dict__, **changes)
        if not _WHAT_IT_IS.isdisjoint(changes):
            copy.__dict__.pop(_READ, None)
            copy.__dict__.pop(_FITS, None)
        return copy

    def fits(self, judge: Callable[[Proposal], bool]) -> bool:
        """Return what `judge` says of the bytes and columns that were proposed, asking it once."""
        known: bool | None = self.__dict__.get(_FITS)
        if known is None:
            known = self.__dict__[_FITS] = judge(self)
        return known

    def read(self) -> ProposalDocument:
        """Return the document of the stored bytes, read once for this row; it must not be changed.

        Whoever hands it to others reads it anew: `ProposalDocument.of_bytes(self.document)`.
        """
        known: ProposalDocument | None = self.__dict__.get(_READ)
        if known is None:
            known = self.__dict__[_READ] = ProposalDocument.of_bytes(self.document)
        return known

    def having_read(self, document: ProposalDocument) -> Proposal:
        """Keep what was just read from these very bytes, so that `read` returns it; return self."""
        self.__dict__[_READ] = document
        return self

    def expired(self, now_ms: int) -> bool:
        """Return whether it still waits and its deadline has passed."""
        waiting = self.state in (State.PENDING, State.SENTINEL_APPROVED)
        return waiting and now_ms >= self.deadline_ms

    @property
    def waits_for(self) -> str:
        """What `waiting_for` means to people; empty if it waits for nothing but people."""
        waiting = self.waiting_for or ""
        return _WAITS_FOR.get(waiting, waiting)

    @property
    def idempotency_key(self) -> str:
        """`<proposal_id>:<verb>:<attempt>` of the call that stands in `execution`."""
        if self.execution is None:
            raise ValueError("execution has not begun")
        return f"{self.proposal_id}:{self.execution.verb}:{self.execution.attempt}"


_OPTIONAL: Final = {f.name: f.default for f in fields(Proposal) if f.default is not MISSING}
_FIELDS: Final = frozenset(each.name for each in fields(Proposal))
_WAITS_FOR: Final = {
    "frozen": "thaw, for everything is frozen",
    "valid_from_ms": "its time to begin (valid_from_ms)",
}
#: Names under which a row keeps the document it has read, and whether that fits its digest. They
#: are no fields, so that rows are not compared by them.
_READ: Final = "_read"
_FITS: Final = "_fits"
#: The fields that these two depend on.
_WHAT_IT_IS: Final = frozenset(
    {"proposal_id", "actor", "tool", "digest", "document", "r3_document", "r3_s256", "masked"}
)
