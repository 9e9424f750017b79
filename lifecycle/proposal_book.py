"""The book of proposals has all questions that the running bot asks about them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

from lifecycle.proposal import Proposal


class Proposals(Protocol):
    """The proposals, and the questions about them. All times are in ms UTC."""

    def get(self, proposal_id: str) -> Proposal | None:
        """Return the proposal with exactly this id."""

    def beginning_with(self, prefix: str, limit: int) -> Sequence[str]:
        """Return up to `limit` ids that begin with `prefix`."""

    def ids_after(self, after_id: str, limit: int) -> Sequence[str]:
        """Return up to `limit` ids behind `after_id`, in order; no proposal is ever left out."""

    def add(self, proposal: Proposal) -> None:
        """Insert a new proposal; its id must be free."""

    def save(self, proposal: Proposal, seen: Proposal) -> bool:
        """Write `proposal` if (state, version) in the store still are those of `seen`; return
        whether they were (compare-and-swap)."""

    def open_like(self, actor: str, content_digest: str) -> Proposal | None:
        """Return this proposer's open proposal with this content, if there is one."""

    def refused_like(
        self, actor: str, likeness_digest: str, content_digest: str, between: tuple[int, int]
    ) -> Proposal | None:
        """Return the proposer's latest proposal that a person refused `between` these two times,
        both included, and that has this likeness, or else this very content.

        The content is asked for as well because other versions of Signoff may compute likeness
        otherwise.
        """

    def refused_tool_lately(self, actor: str, tool: str, since_ms: int) -> bool:
        """Return whether a person has refused this proposer's use of this tool since `since_ms`."""

    def own_of(
        self,
        actor: str,
        before: tuple[int, str] | None,
        limit: int,
        *,
        state: str | None = None,
        tool: str | None = None,
        until: tuple[int, str] | None = None,
    ) -> Sequence[Proposal]:
        """Return a proposer's proposals, newest first, that come after `before` (created_at_ms, id)
        in that order; from the newest on if it is None. None behind `until` is looked at."""

    def own_behind(
        self, actor: str, before: tuple[int, str] | None, count: int
    ) -> tuple[int, str] | None:
        """Return the place (created_at_ms, id) of the proposer's `count`-th proposal after `before`
        in that order, whatever its state and tool; None if there are fewer."""

    def with_r3(self, r3_s256: str) -> Proposal | None:
        """Return the proposal whose R3 document has this hash."""

    def count_open(self, actor: str) -> int:
        """Count the proposer's proposals that are not terminal."""

    def waiting(self, offset: int, limit: int) -> Sequence[Proposal]:
        """Return pending and sentinel_approved ones: attention first, then the nearest deadline."""

    def count_waiting(self) -> int:
        """Count pending and sentinel_approved proposals."""

    def executing(self, offset: int, limit: int) -> Sequence[Proposal]:
        """Return executing ones: attention first, then the nearest end of a window."""

    def count_executing(self) -> int:
        """Count executing proposals."""

    def due_to_close(
        self, now_ms: int, limit: int, after: Proposal | None = None
    ) -> Sequence[Proposal]:
        """Return up to `limit` executing proposals whose window can close now, by `closing_place`,
        behind that of `after`.

        Their call is done, their window has passed, and neither a kept ❌ nor an attention of
        STOPS_CLOSING holds them back.
        """

    def next_close_ms(self) -> int | None:
        """Return the earliest time at which a window can close, even a past one, or None."""

    def due_to_expire(self, now_ms: int, limit: int) -> Sequence[Proposal]:
        """Return pending and sentinel_approved ones whose deadline has passed."""

    def ready_to_open(self, limit: int, after_id: str = "") -> Sequence[Proposal]:
        """Return sentinel_approved ones by id that have an opener and for which no permit waits."""

    def unchecked(self, limit: int) -> Sequence[Proposal]:
        """Return pending ones without a verdict: judged just now, or the process died before."""

    def in_flight(self, limit: int, after_id: str = "") -> Sequence[Proposal]:
        """Return executing ones whose last call is running, by id, behind `after_id`."""

    def checked_under_other(self, policy_digest: str, limit: int) -> Sequence[Proposal]:
        """Return open ones whose `checked_policy_digest` is another, up to `limit`."""

    def reasons_due(self, now_ms: int, limit: int) -> Sequence[Proposal]:
        """Return ended ones whose wait for a reason by reply is over."""

    def to_remind(self, now_ms: int, limit: int) -> Sequence[Proposal]:
        """Return sentinel_approved ones that need people, have a quarter of their time or less
        left, and were not reminded of."""

    def bind_evidence(self, proposal_id: str, evidence_ids: Iterable[str]) -> None:
        """Note which evidence a new proposal names."""

    def is_bound(self, proposal_id: str, evidence_id: str) -> bool:
        """Return whether it is on record that the proposal names this evidence."""

    def bound_to(self, evidence_id: str, limit: int) -> Sequence[Proposal]:
        """Return open proposals that name this evidence."""

    def with_attention(self, limit: int) -> Sequence[Proposal]:
        """Return the proposals that a person must look at, terminal ones included."""
