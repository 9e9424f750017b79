"""Keeps evidence, tasks and flags over SQLite.

The books run on the thread of their connection, as every book does.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from bot.storage.book import Book
from bot.storage.json_text import dump, load
from bot.storage.record_rows import packet_of, packet_row, tasks_of
from bot.storage.remembered import REMEMBERED_MS
from lifecycle.records import EvidencePacket, Task

#: Longer flags (in characters) are not cached, but read each time.
_SHORT_FLAG: Final = 1_024


class RecordedEvidence(Book):
    """The port EvidenceBook: what sources observed."""

    def get(self, evidence_id: str) -> EvidencePacket | None:
        """Return the packet with this id, None if there is none."""
        row = self._one("evidence", evidence_id=evidence_id)
        return packet_of(row) if row else None

    def ids_after(self, after_id: str, limit: int) -> Sequence[str]:
        """Return up to `limit` ids of packets after `after_id`, in order; more as `_ids` says."""
        return self._ids("evidence_after", after_id, limit)

    def put(self, packet: EvidencePacket) -> None:
        """Record a packet; a later packet with the same id replaces it."""
        self._do("put_evidence", packet_row(packet))


class BacklogBook(Book):
    """The port Backlog: the tasks that proposals came from."""

    def put(self, task: Task) -> None:
        """Store the state of a proposer's task."""
        self._do("put_task", {name: getattr(task, name) for name in Task.__slots__})

    def get(self, actor: str, task_id: str) -> Task | None:
        """Return the proposer's task, None if there is none, or none that can be read."""
        row = self._one("task", actor=actor, task_id=task_id)
        return next(iter(tasks_of([row])), None) if row else None

    def tasks(self, actor: str, limit: int, after_id: str = "") -> Sequence[Task]:
        """Return up to `limit` tasks of a proposer after `after_id`, by id."""
        return self._page("tasks", tasks_of, actor=actor, limit=limit, after_id=after_id)


class FlagBook(Book):
    """The port Flags: small facts that survive a restart, and the events heard lately."""

    def get(self, name: str) -> Any:
        """Return the JSON value of a flag, None if it is not set.

        If somebody wrote text there that is not JSON, the text itself is returned. Every caller
        checks the shape of a flag, and treats such a text like any other wrong shape.
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
        """Set a flag to a JSON value; None removes it, for a row that says nothing would stay."""
        self.desk.flags.pop(name, None)
        if value is None:
            self._do("drop_flag", {"name": name})
        else:
            self._do("put_flag", {"name": name, "value": dump(value)})

    def first_time(self, surface: str, event_id: str, at_ms: int) -> bool:
        """Remember an event; return False if it was heard in the 24 hours before `at_ms`.

        Also deletes a few older events.
        """
        before_ms = at_ms - REMEMBERED_MS
        values = {"surface": surface, "event_id": event_id, "at_ms": at_ms}
        first = self._do("remember_event", values | {"before_ms": before_ms}) == 1
        self._do("forget_events", {"before_ms": before_ms})
        return first
