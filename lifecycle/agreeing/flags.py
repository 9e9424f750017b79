"""Compare the questions, the freeze and the note of a restored copy with what the trail tells.

These rows belong to no proposal; `audit verify` alone compares them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from lifecycle.copied import noted_copy
from lifecycle.event_kinds import EventKind
from lifecycle.freezing import frozen
from lifecycle.moment import rfc3339
from lifecycle.ports import Transaction
from lifecycle.questions import question_of, shown_of

_Entry = Mapping[str, Any]


@dataclass(slots=True)
class FlagsTold:
    """The last entries about questions, the freeze and a copy, handed in oldest first."""

    asked: dict[str, _Entry] = field(default_factory=dict)
    answered: dict[str, _Entry] = field(default_factory=dict)
    froze: _Entry | None = None
    copied: _Entry | None = None

    def take(self, entry: _Entry) -> None:
        """Note an exported entry if it is about one of these; ignore every other kind."""
        match entry.get("kind"):
            case EventKind.FROZEN:
                self.froze = entry
                if _details(entry).get("copy"):
                    self.copied = entry
            case EventKind.THAWED:
                self.froze = None
            case EventKind.QUESTION_ASKED:
                self.asked[_id_of(entry)] = entry
                self.answered.pop(_id_of(entry), None)
            case EventKind.QUESTION_ANSWERED:
                self.answered[_id_of(entry)] = entry
            case _:
                return

    def disagreements(self, tx: Transaction) -> list[str]:
        """Return a sentence for each difference; empty if all agree."""
        found = [*self._about_the_freeze(tx), *self._about_the_copy(tx)]
        for asked_id, entry in self.asked.items():
            kept = question_of(tx, asked_id)
            try:
                about = [*_about_a_question(kept, entry, self.answered.get(asked_id))]
            except (TypeError, ValueError, KeyError, AttributeError) as error:
                about = [f"what is kept of it cannot be read ({type(error).__name__})"]
            found += [f"question {asked_id}: {words}" for words in about]
        return found

    def _about_the_copy(self, tx: Transaction) -> Iterator[str]:
        """Yield a sentence if the note of the copy that was brought back is missing or another one.

        What stood in the copy decides nothing by itself, but the bot knows what that is only by
        this note.
        """
        told = self.copied
        if told is None:
            return
        kept = noted_copy(tx)
        noted = (rfc3339(kept["at_ms"]), kept.get("seq")) if _is_noted(kept) else None
        if noted != (told.get("at"), told.get("seq")):
            yield f"copy: which one was brought back is not noted as entry {told.get('seq')} tells"

    def _about_the_freeze(self, tx: Transaction) -> Iterator[str]:
        kept, told = frozen(tx), self.froze
        if told is None and kept is not None:
            yield "freeze: it is in force, and no entry tells of it"
        if told is not None and kept is None:
            yield f"freeze: it is lifted, entry {told.get('seq')} put it in force"
        if told is not None and kept is not None and not _is_that_freeze(kept, told):
            yield f"freeze: its reason, person or time is not the one of entry {told.get('seq')}"


def _is_noted(kept: Any) -> bool:
    return isinstance(kept, Mapping) and isinstance(kept.get("at_ms"), int)


def _is_that_freeze(kept: Mapping[str, Any], told: _Entry) -> bool:
    try:
        stored = (kept["reason"], kept["by"], rfc3339(kept["at_ms"]))
        return stored == (told["details"]["why"], told["actor"]["id"], told["at"])
    except (TypeError, ValueError, KeyError):
        return False


def _about_a_question(
    kept: Mapping[str, Any] | None, asked: _Entry, answered: _Entry | None
) -> Iterator[str]:
    seq, told = asked.get("seq"), asked["details"]
    if kept is None:
        yield f"it is gone or cannot be read, entry {seq} tells of it"
        return
    if "asked" in told and told["asked"] != shown_of(kept):
        yield f"what is asked, or by whom, is not what entry {seq} tells"
    if (kept["witness"], rfc3339(kept["asked_at_ms"])) != (told["witness"], asked["at"]):
        yield f"its witness or its time is not the one of entry {seq}"
    if answered is None:
        if kept["answer"] is not None or kept["answered_by"] is not None:
            yield f"it has an answer of {kept['answered_by']}, and no entry tells of it"
        return
    yield from _about_its_answer(kept, answered)


def _about_its_answer(kept: Mapping[str, Any], answered: _Entry) -> Iterator[str]:
    seq, person = answered.get("seq"), answered["actor"]["id"]
    if kept["answer"] != answered["details"]["answer"]:
        yield f"its answer is not the one of entry {seq}"
    if kept["answered_by"] != person:
        yield f"it was answered by {kept['answered_by']}, entry {seq} says {person}"
    at_ms = kept["answered_at_ms"]
    if at_ms is None or rfc3339(at_ms) != answered["at"]:
        yield f"it was not answered when entry {seq} says"


def _id_of(entry: _Entry) -> str:
    return str(_details(entry).get("question_id", ""))


def _details(entry: _Entry) -> Mapping[str, Any]:
    details = entry.get("details")
    return details if isinstance(details, Mapping) else {}
