"""How far Slack's clock is from ours is taken from the dates of its answers, and never guessed."""

from __future__ import annotations

import logging
from email.utils import formatdate

import pytest

from bot.chat.slack.clocks import SlackClock
from tests.fakes.clock import NOON_MS, FakeClock

SECOND_MS = 1_000


def a_date(at_ms: int) -> dict[str, str]:
    return {"Date": formatdate(at_ms // 1000, usegmt=True)}


@pytest.mark.parametrize("ours_ms", [NOON_MS, NOON_MS + 1, NOON_MS + 999])
def test_clocks_that_may_be_alike_are_taken_to_be(ours_ms: int) -> None:
    clock = FakeClock(ours_ms)
    clocks = SlackClock(clock)

    clocks.answered(a_date(ours_ms), ours_ms)

    assert clocks.ours(NOON_MS) == NOON_MS
    assert clocks.ours(None) is None
    assert clocks.trouble() is None


@pytest.mark.parametrize("away_s", [2, 300, 10**8, -2, -300, -(10**8)])
@pytest.mark.parametrize("took_ms", [0, 1_500])
def test_what_slack_says_was_is_no_later_by_our_clock_than_it_was(
    away_s: int, took_ms: int
) -> None:
    clock = FakeClock()
    clocks = SlackClock(clock)
    away_ms = away_s * SECOND_MS
    clock.set(NOON_MS + took_ms)

    clocks.answered(a_date(NOON_MS + took_ms + away_ms), NOON_MS)

    found = clocks.ours(NOON_MS + away_ms)
    assert found is not None
    assert NOON_MS - SECOND_MS - took_ms <= found <= NOON_MS
    assert clocks.slacks(found) == NOON_MS + away_ms


@pytest.mark.parametrize("away_s", [6, -6])
def test_an_answer_that_took_long_says_less_than_what_was_known(away_s: int) -> None:
    clock = FakeClock()
    clocks = SlackClock(clock)
    clocks.answered(a_date(NOON_MS + away_s * SECOND_MS), NOON_MS)
    known = clocks.ours(NOON_MS)

    for sent_s, came_s in ((60, 68), (120, 128)):
        clock.set(NOON_MS + came_s * SECOND_MS)
        dated_s = sent_s if away_s > 0 else came_s
        asked_ms = NOON_MS + sent_s * SECOND_MS
        clocks.answered(a_date(NOON_MS + (dated_s + away_s) * SECOND_MS), asked_ms)

    assert clocks.ours(NOON_MS) == known


def test_what_was_known_is_let_go_of_once_the_clocks_were_set_alike() -> None:
    clock = FakeClock()
    clocks = SlackClock(clock)
    clocks.answered(a_date(NOON_MS + 6 * SECOND_MS), NOON_MS)

    clocks.answered(a_date(NOON_MS), NOON_MS)

    assert clocks.ours(NOON_MS) == NOON_MS


@pytest.mark.parametrize(
    "date",
    ["", "soon", "Mon, 99 Foo 2026 25:61:61 GMT", "²", "0" * 5_000, "Mon, 02 Mar 2026 12:00"],
)
def test_a_date_that_cannot_be_read_says_nothing(date: str) -> None:
    clocks = SlackClock(FakeClock())
    clocks.answered(a_date(NOON_MS + 300_000), NOON_MS)
    before = clocks.ours(NOON_MS)

    clocks.answered({"date": date}, NOON_MS)
    clocks.answered({}, NOON_MS)

    assert clocks.ours(NOON_MS) == before == NOON_MS - 301_000


@pytest.mark.parametrize(("away_s", "words"), [(130, "2 min ahead of"), (-600, "9 min behind")])
def test_people_can_see_that_the_clocks_are_minutes_apart(away_s: int, words: str) -> None:
    clocks = SlackClock(FakeClock())

    clocks.answered(a_date(NOON_MS + away_s * SECOND_MS), NOON_MS)

    assert words in (clocks.trouble() or "")


def test_the_log_says_once_that_the_clocks_came_apart_and_once_that_they_are_alike(
    caplog: pytest.LogCaptureFixture,
) -> None:
    clocks = SlackClock(FakeClock())
    with caplog.at_level(logging.WARNING):
        for away_s in (0, 130, 400, 420, 0, 0):
            clocks.answered(a_date(NOON_MS + away_s * SECOND_MS), NOON_MS)

    apart, alike = (each.getMessage() for each in caplog.records)
    assert "2 min ahead of" in apart
    assert "alike again" in alike
