"""The book of proposals: the questions that the running bot asks about them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

from lifecycle.proposal import Proposal


class Proposals(Protocol):
    """The proposals, and the questions that the running bot asks about them."""

    def get(self, proposal_id: str) -> Proposal | None:
        """Return the proposal with exactly this id."""

    def beginning_with(self, prefix: str, limit: int) -> Sequence[str]:
        """Return up to `limit` ids that begin with `prefix`."""

    def ids_after(self, after_id: str, limit: int) -> Sequence[str]:
        """Return up to `limit` ids behind `after_id`, in order: every proposal there ever was."""

    def add(self, proposal: Proposal) -> None:
        """Insert a new proposal; its id must be free."""

    def save(self, proposal: Proposal, seen: Proposal) -> bool:
        """Write `proposal` if (state, version) in the store still are those of `seen`."""

    def open_like(self, actor: str, content_digest: str) -> Proposal | None:
        """Return this proposer's open proposal with this content."""

    def refused_like(
        self, actor: str, likeness_digest: str, content_digest: str, between: tuple[int, int]
    ) -> Proposal | None:
        """Return the proposer's latest proposal of this likeness, else of this very content, that a
        person refused in between, both ends included: other versions read likeness otherwise."""

    def refused_tool_lately(self, actor: str, tool: str, since_ms: int) -> bool:
        """Say whether a person refused this proposer's use of this tool since then."""

    def own_of(
        self,
        actor: str,
        before: tuple[int, str] | None,
        limit: int,
        *,
        state: str | None = None,
        tool: str | None = None,
    ) -> Sequence[Proposal]:
        """Return a proposer's proposals, newest first, behind (created_at_ms, id) of `before`."""

    def with_r3(self, r3_s256: str) -> Proposal | None:
        """Return the proposal whose R3 document has this hash."""

    def count_open(self, actor: str) -> int:
        """Count the proposer's proposals that are not terminal."""

    def waiting(self, offset: int, limit: int) -> Sequence[Proposal]:
        """Return pending and sentinel_approved ones: attention first, then nearest deadline."""

    def count_waiting(self) -> int:
        """Count pending and sentinel_approved proposals."""

    def executing(self, offset: int, limit: int) -> Sequence[Proposal]:
        """Return executing ones: attention first, then nearest window."""

    def count_executing(self) -> int:
        """Count executing proposals."""

    def due_to_close(
        self, now_ms: int, limit: int, after: Proposal | None = None
    ) -> Sequence[Proposal]:
        """Return executing, done ones whose window has closed and that nothing holds back, by
        `closing_place`, from behind `after`."""

    def next_close_ms(self) -> int | None:
        """Return when the next window closes, whatever the time is now."""

    def due_to_expire(self, now_ms: int, limit: int) -> Sequence[Proposal]:
        """Return pending and sentinel_approved ones whose deadline has passed."""

    def ready_to_open(self, limit: int, after_id: str = "") -> Sequence[Proposal]:
        """Return sentinel_approved ones with an opener, by id, that have not begun."""

    def unchecked(self, limit: int) -> Sequence[Proposal]:
        """Return pending ones without a verdict: the process died before Sentinel answered."""

    def in_flight(self, limit: int, after_id: str = "") -> Sequence[Proposal]:
        """Return executing ones whose last call is running."""

    def checked_under_other(self, policy_digest: str, limit: int) -> Sequence[Proposal]:
        """Return open ones last checked under another policy, a page at a time."""

    def reasons_due(self, now_ms: int, limit: int) -> Sequence[Proposal]:
        """Return terminal ones whose wait for a reason by reply has passed."""

    def to_remind(self, now_ms: int, limit: int) -> Sequence[Proposal]:
        """Return waiting ones that need people, with a quarter of their time left, unreminded."""

    def bind_evidence(self, proposal_id: str, evidence_ids: Iterable[str]) -> None:
        """Note which evidence a new proposal names."""

    def is_bound(self, proposal_id: str, evidence_id: str) -> bool:
        """Say whether it is noted that a proposal names this evidence."""

    def bound_to(self, evidence_id: str, limit: int) -> Sequence[Proposal]:
        """Return open proposals that name this evidence."""

    def with_attention(self, limit: int) -> Sequence[Proposal]:
        """Return the proposals that a person must look at, terminal ones included."""
