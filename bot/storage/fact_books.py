"""What was told beside the proposals, over SQLite: evidence, tasks, and small facts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from bot.storage.book import Book
from bot.storage.json_text import dump, load
from bot.storage.record_rows import packet_of, packet_row, task_of
from bot.storage.remembered import REMEMBERED_MS
from lifecycle.records import EvidencePacket, Task

#: Flags that are longer are read each time.
_SHORT_FLAG: Final = 1_024


class RecordedEvidence(Book):
    """What sources observed."""

    def get(self, evidence_id: str) -> EvidencePacket | None:
        """Return the packet with this id."""
        row = self._one("evidence", evidence_id=evidence_id)
        return packet_of(row) if row else None

    def ids_after(self, after_id: str, limit: int) -> Sequence[str]:
        """Return up to `limit` ids of packets behind `after_id`, in order."""
        rows = self._all("evidence_after", after_id=after_id, limit=limit)
        return [row["evidence_id"] for row in rows]

    def put(self, packet: EvidencePacket) -> None:
        """Record a packet; the latest under an id is the one that counts."""
        self._do("put_evidence", packet_row(packet))


class BacklogBook(Book):
    """Tasks that proposals came from."""

    def put(self, task: Task) -> None:
        """Keep where a proposer's task stands."""
        self._do("put_task", {name: getattr(task, name) for name in Task.__slots__})

    def get(self, actor: str, task_id: str) -> Task | None:
        """Return the proposer's task."""
        row = self._one("task", actor=actor, task_id=task_id)
        return task_of(row) if row else None

    def tasks(self, actor: str, limit: int, after_id: str = "") -> Sequence[Task]:
        """Return a proposer's tasks by id, a page at a time."""
        rows = self._all("tasks", actor=actor, limit=limit, after_id=after_id)
        return [task_of(row) for row in rows]


class FlagBook(Book):
    """Small facts that survive a restart."""

    def get(self, name: str) -> Any:
        """Return the JSON value of a flag, None where it was never set.

        What somebody wrote there that is no JSON is a text like any other: whoever asks expects
        something else, and knows what to do then.
        """
        flags = self.desk.flags
        if name in flags:
            text = flags[name]
        else:
            row = self._one("flag", name=name)
            text = row["value"] if row else None
            if text is None or len(text) <= _SHORT_FLAG:
                flags[name] = text
        if text is None:
            return None
        try:
            return load(text)
        except (ValueError, TypeError, RecursionError):
            return str(text)

    def put(self, name: str, value: Any) -> None:
        """Set a flag."""
        self.desk.flags.pop(name, None)
        self._do("put_flag", {"name": name, "value": dump(value)})

    def first_time(self, surface: str, event_id: str, at_ms: int) -> bool:
        """Remember an event and forget some old ones; False where it was known for 24 hours."""
        before_ms = at_ms - REMEMBERED_MS
        values = {"surface": surface, "event_id": event_id, "at_ms": at_ms}
        first = self._do("remember_event", values | {"before_ms": before_ms}) == 1
        self._do("forget_events", {"before_ms": before_ms})
        return first
