"""The running bot tells its state in the lock file beside its database (`bot.storage.note`).

`status` and `reload` read it there and ask no process. The database itself could not hold that it
cannot be written, or which config was refused.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from bot.config import Config
from bot.storage.note import Note
from lifecycle.workings.unwritten import Unwritten

#: How many characters of a text are told; a refused config may have many mistakes, and the log has
#: them all.
_LONGEST: Final = 1_500


class OwnState:
    """Tells which config this process works with, the outcome of a reload, and failing writes.

    It is used on the event loop; only a reload sets `read_last` on a thread of its own.
    """

    def __init__(self, config: Config, now_ms: Callable[[], int]) -> None:
        """Begin with the config that the process starts with."""
        self._database = config.database_file
        self._note = Note(self._database)
        self._now_ms = now_ms
        self._said: dict[str, Any] = {}
        #: The digest of the text that a reload read last, None if there was none.
        self.read_last: str | None = None
        self.unwritten: Unwritten = _Noted(self._writes)
        self._works_with(config, (), ())

    def taken(self, fresh: Config, later: Sequence[str], notes: Sequence[str]) -> str:
        """Tell that a config is in force; return the words for people.

        `later` are the parts that wait for the next start, `notes` sentences about possible
        mistakes in it.
        """
        self._works_with(fresh, later, notes)
        waits = f" Changed, but only read at a start: {', '.join(later)}." if later else ""
        return "\n".join((f"The config is in force: {fresh.policy.digest}.{waits}", *notes))

    def refused(self, words: str) -> str:
        """Tell why the config was not taken; return the same words."""
        refused = {"at_ms": self._now_ms(), "why": _cut(words), "digest": self.read_last}
        self._tell(refused=refused)
        return words

    def told_again(self) -> None:
        """Write everything again, into a lock file that was made because the former one is gone."""
        self._note.close()
        self._note = Note(self._database)
        self._tell()

    def close(self) -> None:
        """Close the note: the process ends."""
        self._note.close()

    def _works_with(self, config: Config, later: Sequence[str], notes: Sequence[str]) -> None:
        read = {
            "path": str(config.path),
            "digest": config.text_digest,
            "at_ms": self._now_ms(),
            "only_at_start": list(later),
            "notes": _cut("\n".join(notes)),
        }
        self._tell(config=read, refused=None)

    def _writes(self, unwritten: Unwritten) -> None:
        since_ms, why = unwritten.since_ms, _cut(unwritten.why)
        words = _cut(unwritten.words() or "")
        told = None if since_ms is None else {"since_ms": since_ms, "why": why, "words": words}
        self._tell(unwritten=told)

    def _tell(self, **news: Mapping[str, Any] | None) -> None:
        self._said |= news
        self._note.write(self._said)


class _Noted(Unwritten):
    """An Unwritten that calls `changed` whenever its words change."""

    def __init__(self, changed: Callable[[Unwritten], None]) -> None:
        super().__init__()
        self._changed = changed

    def failed(self, now_ms: int, why: str) -> str | None:
        """Note a failed write as Unwritten does, and call `changed`."""
        words = super().failed(now_ms, why)
        self._changed(self)
        return words

    def hangs(self, since_ms: int) -> str | None:
        """Note as Unwritten does that the store does not answer, and call `changed`."""
        words = super().hangs(since_ms)
        if words is not None:
            self._changed(self)
        return words

    def mended(self, now_ms: int) -> str | None:
        """Note as Unwritten does that a write went well; call `changed` if one had failed."""
        words = super().mended(now_ms)
        if words is not None:
            self._changed(self)
        return words


def _cut(words: str) -> str:
    return words if len(words) <= _LONGEST else f"{words[:_LONGEST]}…"
