"""The log says once a minute what comes every second."""

from __future__ import annotations

import io
import logging

import pytest

from bot.cli.log_repeats import Repeats


class Log:
    """A logger with a handler that drops repeats, by a clock of its own."""

    def __init__(self) -> None:
        self.written = io.StringIO()
        self.handler = logging.StreamHandler(self.written)
        self.handler.addFilter(Repeats())

    def says(
        self,
        at_s: float,
        words: str,
        *args: object,
        level: int = logging.ERROR,
        error: Exception | None = None,
    ) -> None:
        told = None if error is None else (type(error), error, error.__traceback__)
        record = logging.LogRecord("signoff.jobs", level, __file__, 1, words, args, told)
        record.created = at_s
        self.handler.handle(record)

    @property
    def lines(self) -> list[str]:
        return self.written.getvalue().splitlines()


def test_what_fails_every_second_is_logged_once_a_minute_with_how_often_it_came() -> None:
    log = Log()
    for second in range(121):
        log.says(1_000 + second, "the job %s failed", "expire")

    again = "the job expire failed (this came 59 times more since it was last said)"
    assert log.lines == ["the job expire failed", again, again]


def test_what_came_twice_says_so() -> None:
    log = Log()
    for at_s in (0, 5, 70):
        log.says(at_s, "cut off")
    assert log.lines == ["cut off", "cut off (this came once more since it was last said)"]


def test_other_words_another_level_and_what_is_no_warning_are_no_repeats() -> None:
    log = Log()
    log.says(0, "the job %s failed", "expire")
    log.says(0, "the job %s failed", "remind")
    log.says(0, "the job %s failed", "expire", level=logging.WARNING)
    for _ in range(3):
        log.says(0, "read anew", level=logging.INFO)
    assert len(log.lines) == 6


def test_the_same_words_of_another_error_are_no_repeat() -> None:
    log = Log()
    for at_s, error in enumerate((ValueError("a"), KeyError("b"), KeyError("b"))):
        log.says(at_s, "this request failed", error=error)
    log.says(70, "this request failed", error=KeyError("b"))

    failed = "this request failed"
    again = f"{failed} (this came once more since it was last said)"
    assert log.lines == [failed, "ValueError: a", failed, "KeyError: 'b'", again, "KeyError: 'b'"]


def test_a_line_that_cannot_be_put_together_fails_nobody_who_logs(
    capsys: pytest.CaptureFixture[str],
) -> None:
    log = Log()
    for _ in range(2):
        log.says(0, "%d jobs failed", "no number")
    assert log.lines == []
    assert capsys.readouterr().err.count("--- Logging error ---") == 2


def test_a_clock_that_was_set_back_hides_nothing() -> None:
    log = Log()
    log.says(5_000, "cut off")
    log.says(1_000, "cut off")
    assert log.lines == ["cut off", "cut off"]


def test_no_more_lines_are_remembered_than_a_few_hundred(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bot.cli.log_repeats._MOST", 3)
    log = Log()
    for words in ("a", "b", "c", "d", "a", "d"):
        log.says(0, words)
    assert log.lines == ["a", "b", "c", "d", "a"]
