"""Keeps reviews and permits over SQLite.

Both books run on the thread of their connection, as every book does.
"""

from __future__ import annotations

from collections.abc import Sequence

from bot.storage.book import Book
from bot.storage.record_rows import permit_of, permit_row, review_of, review_row
from lifecycle.records import PermitRecord
from lifecycle.review import Review


class ReviewBook(Book):
    """The port Reviews. The reviews that a unit reads are remembered on the desk until it ends."""

    def of(self, proposal_id: str) -> Sequence[Review]:
        """Return all reviews of a proposal in the order in which they came."""
        if self.desk.is_new(proposal_id):
            return []
        found = self.desk.reviews.get(proposal_id)
        if found is None:
            rows = self._all("reviews_of", proposal_id=proposal_id)
            found = self.desk.reviews[proposal_id] = tuple(map(review_of, rows))
        return list(found)

    def add(self, review: Review) -> None:
        """Append one review."""
        self.desk.must_be_written(review.proposal_id)
        known = self.desk.reviews
        if review.proposal_id in known:
            known[review.proposal_id] += (review,)
        self._do("add_review", review_row(review))

    def void(self, proposal_id: str, person: str | None, why: str) -> int:
        """Make this person's approvals void, everyone's if None; return how many were voided."""
        self.desk.reviews.pop(proposal_id, None)
        return self._do("void_reviews", {"proposal_id": proposal_id, "person": person, "why": why})

    def give_reason(self, proposal_id: str, person: str, reason: str) -> None:
        """Set the reason of this person's latest reject or roll back."""
        self.desk.reviews.pop(proposal_id, None)
        values = {"proposal_id": proposal_id, "person": person, "reason": reason}
        self._do("give_reason", values)


class PermitBook(Book):
    """The port Permits: permits by id; each is used once."""

    def add(self, permit: PermitRecord) -> None:
        """Store an issued permit."""
        self.desk.must_be_written(permit.proposal_id)
        self._do("add_permit", permit_row(permit))

    def get(self, permit_id: str) -> PermitRecord | None:
        """Return the permit with this id, None if none was issued."""
        row = self._one("permit", permit_id=permit_id)
        return permit_of(row) if row else None

    def of(self, proposal_id: str, verb: str, attempt: int) -> PermitRecord | None:
        """Return the latest permit of one verb and attempt of a proposal, None if there is none."""
        row = self._one("permit_of", proposal_id=proposal_id, verb=verb, attempt=attempt)
        return permit_of(row) if row else None

    def all_of(self, proposal_id: str) -> Sequence[PermitRecord]:
        """Return every permit of a proposal, by verb and attempt."""
        return [permit_of(row) for row in self._all("permits_of", proposal_id=proposal_id)]

    def consume(self, permit_id: str, at_ms: int) -> bool:
        """Use the permit up; return False if it was used before or is not known."""
        return self._do("consume_permit", {"permit_id": permit_id, "at_ms": at_ms}) == 1
