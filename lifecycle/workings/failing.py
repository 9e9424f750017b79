"""Remembers in memory which steps of the bot's own keep failing, and when people are to be told.

One failure is no news: the step is tried again soon. A step that has failed five times, over half a
minute or more, is by now left undone for a minute at a time, and people are to know (section 7).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from lifecycle.moment import clock_words

TOLD_AFTER: Final = 5
TOLD_AFTER_MS: Final = 30_000


@dataclass(slots=True)
class _Trouble:
    """Failures of one step in a row; `told` once people know, `whose` are those who still fail."""

    since_ms: int
    attempts: int = 0
    why: str = ""
    told: bool = False
    whose: set[str] = field(default_factory=set)


class Failing:
    """What fails, by the words for what was to be done: "closing the windows that are due"."""

    def __init__(self) -> None:
        self._troubles: dict[str, _Trouble] = {}
        self._hanging: dict[str, int] = {}

    def failed(
        self, step: str, now_ms: int, why: str, *, known: bool = False, whose: str = ""
    ) -> str | None:
        """Note a failure; return what people are to be told, once.

        `known`: people know the cause already, and need not hear what follows from it. `whose`: by
        whom it is tried, if several try the same.
        """
        trouble = self._troubles.setdefault(step, _Trouble(now_ms))
        trouble.attempts, trouble.why = trouble.attempts + 1, why
        trouble.whose.add(whose)
        lasts = trouble.attempts >= TOLD_AFTER and now_ms - trouble.since_ms >= TOLD_AFTER_MS
        if known or trouble.told or not lasts:
            return None
        trouble.told = True
        return _words(step, trouble)

    def mended(self, step: str, now_ms: int, whose: str = "", *, given_up: str = "") -> str | None:
        """Note that the step went well; return the all-clear if people were told and it fails for
        nobody any more. `given_up` is why it is tried no more; people are told that instead."""
        trouble = self._troubles.get(step)
        if trouble is None:
            return None
        trouble.whose.discard(whose)
        if trouble.whose:
            return None
        del self._troubles[step]
        if not trouble.told:
            return None
        ended = f"is given up ({given_up})" if given_up else "works again"
        return (
            f"{_sentence(step)} {ended}: from {clock_words(trouble.since_ms)} to "
            f"{clock_words(now_ms)} it failed {trouble.attempts} times ({trouble.why})."
        )

    def hangs(self, step: str, since_ms: int) -> str | None:
        """Note that a step does not end; return what people are to be told, once."""
        if step in self._hanging:
            return None
        self._hanging[step] = since_ms
        return _hanging_words(step, since_ms)

    def ended(self, step: str, now_ms: int) -> str | None:
        """Note that it has ended; return the all-clear if people were told that it hangs."""
        since_ms = self._hanging.pop(step, None)
        if since_ms is None:
            return None
        return f"{_sentence(step)} has ended; it took {(now_ms - since_ms) // 60_000} minutes."

    def words(self) -> tuple[str, ...]:
        """Say for `status` what fails or hangs, of what people were told."""
        troubles, hanging = list(self._troubles.items()), list(self._hanging.items())
        failing = (_words(step, trouble) for step, trouble in troubles if trouble.told)
        return (*failing, *(_hanging_words(step, since_ms) for step, since_ms in hanging))


def _sentence(step: str) -> str:
    """Write a step with a capital letter, and leave the ids in it as they are."""
    return step[:1].upper() + step[1:]


def _hanging_words(step: str, since_ms: int) -> str:
    return (
        f"{_sentence(step)} is under way since {clock_words(since_ms)} and does not end: it has "
        "very much to do, or hangs. If that lasts, restart the bot: nothing is lost by it."
    )


def _words(step: str, trouble: _Trouble) -> str:
    return (
        f"{_sentence(step)} failed {trouble.attempts} times since "
        f"{clock_words(trouble.since_ms)} ({trouble.why}). It is tried again at least once a "
        "minute and left undone until then; the bot's log says more."
    )
