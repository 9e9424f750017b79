"""Dictionaries that can be undone: what the store in memory has in place of savepoints."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

from lifecycle.ports import StoreUnavailable

K = TypeVar("K")
V = TypeVar("V")


class Journal:
    """How to undo what the unit under way has done, last first."""

    def __init__(self) -> None:
        """Begin with nothing to undo."""
        self._undo: list[Callable[[], object]] = []
        self.reading = False

    def note(self, undo: Callable[[], object]) -> None:
        """Remember how to undo one step. Raises StoreUnavailable while only reading is allowed."""
        if self.reading:
            raise StoreUnavailable("A view must not write.")
        self._undo.append(undo)

    def keep(self) -> None:
        """Keep what was done."""
        self._undo.clear()

    def undo(self) -> None:
        """Undo what was done."""
        while self._undo:
            self._undo.pop()()


class Table(Generic[K, V]):
    """Rows by key, in the order in which they first came."""

    def __init__(self, journal: Journal) -> None:
        """Take the journal that undoes changes."""
        self._rows: dict[K, V] = {}
        self._journal = journal

    def get(self, key: K) -> V | None:
        """Return a row."""
        return self._rows.get(key)

    def put(self, key: K, row: V) -> None:
        """Set a row."""
        rows = self._rows
        if key in rows:
            before = rows[key]
            self._journal.note(lambda: rows.__setitem__(key, before))
        else:
            self._journal.note(lambda: rows.pop(key))
        rows[key] = row

    def drop(self, key: K) -> None:
        """Remove a row."""
        before = dict(self._rows)
        self._journal.note(lambda: self._restore(before))
        del self._rows[key]

    def __iter__(self) -> Iterator[V]:
        """Go through the rows, oldest first."""
        return iter(self._rows.values())

    def __len__(self) -> int:
        return len(self._rows)

    def items(self) -> Iterator[tuple[K, V]]:
        """Go through keys and rows, oldest first."""
        return iter(self._rows.items())

    def _restore(self, rows: dict[K, V]) -> None:
        # In place: what undoes the steps before this one works on the same dictionary.
        self._rows.clear()
        self._rows.update(rows)
