"""Keeps evidence, tasks and flags for `database: "memory:"`; all are used on the event loop."""

# ruff: noqa: D102 - the ports say what each method means

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import islice, takewhile
from typing import Any, Final

from bot.storage.json_text import dump, load
from bot.storage.memory_tables import Journal, Table
from bot.storage.remembered import REMEMBERED_MS
from lifecycle.records import EvidencePacket, Task

#: So many events that are past are forgotten with each new one: each takes a copy of all of them.
_FEW: Final = 8


class EvidenceTable:
    """Implements the port EvidenceBook."""

    def __init__(self, journal: Journal) -> None:
        """Begin empty."""
        self._rows: Table[str, EvidencePacket] = Table(journal)

    def get(self, evidence_id: str) -> EvidencePacket | None:
        return self._rows.get(evidence_id)

    def ids_after(self, after_id: str, limit: int) -> Sequence[str]:
        return sorted(p.evidence_id for p in self._rows if p.evidence_id > after_id)[:limit]

    def put(self, packet: EvidencePacket) -> None:
        copied = replace(packet, payload=load(dump(packet.payload)))
        self._rows.put(packet.evidence_id, copied)


class BacklogTable:
    """Implements the port Backlog."""

    def __init__(self, journal: Journal) -> None:
        """Begin empty."""
        self._rows: Table[tuple[str, str], Task] = Table(journal)

    def put(self, task: Task) -> None:
        self._rows.put((task.actor, task.task_id), task)

    def get(self, actor: str, task_id: str) -> Task | None:
        return self._rows.get((actor, task_id))

    def tasks(self, actor: str, limit: int, after_id: str = "") -> Sequence[Task]:
        found = [t for t in self._rows if t.actor == actor and t.task_id > after_id]
        return sorted(found, key=lambda task: task.task_id)[:limit]


class FlagTable:
    """Implements the port Flags."""

    def __init__(self, journal: Journal) -> None:
        """Begin empty."""
        self._rows: Table[str, str] = Table(journal)
        self._events: Table[tuple[str, str], int] = Table(journal)

    def get(self, name: str) -> Any:
        text = self._rows.get(name)
        return load(text) if text is not None else None

    def put(self, name: str, value: Any) -> None:
        if value is not None:
            self._rows.put(name, dump(value))
        elif self._rows.get(name) is not None:
            self._rows.drop(name)

    def first_time(self, surface: str, event_id: str, at_ms: int) -> bool:
        before_ms = at_ms - REMEMBERED_MS
        seen_at_ms = self._events.get((surface, event_id))
        if seen_at_ms is not None:
            if seen_at_ms > before_ms:
                return False
            self._events.drop((surface, event_id))  # it comes last now
        # They stand in the order in which they came: what is past need not be looked for in a day.
        past = takewhile(lambda each: each[1] <= before_ms, self._events.items())
        for key in [key for key, _ in islice(past, _FEW)]:
            self._events.drop(key)
        self._events.put((surface, event_id), at_ms)
        return True
