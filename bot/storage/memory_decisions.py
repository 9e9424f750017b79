"""Keeps reviews and permits for `database: "memory:"`; both tables are used on the event loop."""

# ruff: noqa: D102 - the ports say what each method means

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from bot.storage.memory_tables import Journal, Table
from lifecycle.ports import StoreUnavailable
from lifecycle.records import PermitRecord
from lifecycle.review import Decision, Review


class ReviewTable:
    """Implements the port Reviews."""

    def __init__(self, journal: Journal, must_exist: Callable[[str], None]) -> None:
        """Begin empty."""
        self._rows: Table[int, Review] = Table(journal)
        self._must_exist = must_exist

    def of(self, proposal_id: str) -> Sequence[Review]:
        return [review for review in self._rows if review.proposal_id == proposal_id]

    def add(self, review: Review) -> None:
        self._must_exist(review.proposal_id)
        self._rows.put(len(self._rows), review)

    def void(self, proposal_id: str, person: str | None, why: str) -> int:
        valid = [
            (number, review)
            for number, review in self._rows.items()
            if review.proposal_id == proposal_id
            and review.decision is Decision.APPROVE
            and review.counts
            and person in (None, review.person)
        ]
        for number, review in valid:
            self._rows.put(number, replace(review, void_why=why))
        return len(valid)

    def give_reason(self, proposal_id: str, person: str, reason: str) -> None:
        stops = [
            number
            for number, review in self._rows.items()
            if review.proposal_id == proposal_id
            and review.person == person
            and review.decision is not Decision.APPROVE
        ]
        for number in stops[-1:]:
            stop = self._rows.get(number)
            if stop is not None:
                self._rows.put(number, replace(stop, reason=reason))


class PermitTable:
    """Implements the port Permits."""

    def __init__(self, journal: Journal, must_exist: Callable[[str], None]) -> None:
        """Begin empty."""
        self._rows: Table[str, PermitRecord] = Table(journal)
        self._must_exist = must_exist

    def add(self, permit: PermitRecord) -> None:
        self._must_exist(permit.proposal_id)
        if self._rows.get(permit.permit_id) is not None:
            raise StoreUnavailable(f"There already is a permit {permit.permit_id}.")
        self._rows.put(permit.permit_id, permit)

    def get(self, permit_id: str) -> PermitRecord | None:
        return self._rows.get(permit_id)

    def of(self, proposal_id: str, verb: str, attempt: int) -> PermitRecord | None:
        wanted = (proposal_id, verb, attempt)
        found = [p for p in self._rows if (p.proposal_id, p.verb, p.attempt) == wanted]
        return found[-1] if found else None

    def all_of(self, proposal_id: str) -> Sequence[PermitRecord]:
        found = [permit for permit in self._rows if permit.proposal_id == proposal_id]
        return sorted(found, key=lambda permit: (permit.verb, permit.attempt))

    def consume(self, permit_id: str, at_ms: int) -> bool:
        permit = self._rows.get(permit_id)
        if permit is None or permit.consumed_at_ms is not None:
            return False
        self._rows.put(permit_id, replace(permit, consumed_at_ms=at_ms))
        return True
