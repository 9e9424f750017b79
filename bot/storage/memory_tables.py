"""Makes changes of dictionaries undoable; the store in memory uses that instead of savepoints.

Everything here is used on the event loop only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

from lifecycle.ports import StoreUnavailable

K = TypeVar("K")
V = TypeVar("V")


class Journal:
    """Remembers how to undo each step of the current unit. While `reading`, no step is allowed."""

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
        """Keep the changes of the unit: forget how to undo them."""
        self._undo.clear()

    def undo(self) -> None:
        """Undo the changes of the unit, last step first."""
        while self._undo:
            self._undo.pop()()


class Table(Generic[K, V]):
    """Rows by key, in the order in which they first came."""

    def __init__(self, journal: Journal) -> None:
        """Take the journal that undoes changes."""
        self._rows: dict[K, V] = {}
        self._journal = journal

    def get(self, key: K) -> V | None:
        """Return the row of a key, None if there is none."""
        return self._rows.get(key)

    def put(self, key: K, row: V) -> None:
        """Set the row of a key. Raises StoreUnavailable in a view."""
        if key in self._rows:
            before = self._rows[key]
            self._journal.note(lambda: self._rows.__setitem__(key, before))
        else:
            # Without memory it is noted and not done.
            self._journal.note(lambda: self._rows.pop(key, None))
        self._rows[key] = row

    def drop(self, key: K) -> None:
        """Remove the row of a key. Raises StoreUnavailable in a view."""
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
        self._rows = rows  # takes no memory, of which there may be none
