"""What a connection is believed to have heard, which decides what may close unread."""

from __future__ import annotations

import pytest

from bot.chat.hearing.hearing import Hearing

POSTED_MS = 5_000


class Times:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.now_ms = 0

    def __call__(self) -> int:
        return self.now_ms


@pytest.fixture
def times() -> Times:
    return Times()


@pytest.fixture
def hearing(times: Times) -> Hearing:
    """A connection that stands and has read all that there was."""
    made = Hearing(times)
    made.began()
    made.caught_up(made.since_ms)
    times.now_ms = 10_000
    made.alive()
    return made


def test_a_resumed_connection_has_missed_nothing(hearing: Hearing, times: Times) -> None:
    hearing.lost("cut off")
    times.now_ms = 20_000
    hearing.resumed()

    assert hearing.unbroken_since(POSTED_MS)
    assert not hearing.gap


@pytest.mark.parametrize("seen_first", [True, False])
def test_what_could_not_be_seen_was_missed_although_the_connection_is_resumed(
    hearing: Hearing, times: Times, seen_first: bool
) -> None:
    hearing.blinded("the channel may not be viewed")
    hearing.lost("cut off")
    times.now_ms = 20_000
    if seen_first:
        assert hearing.sees()
        hearing.resumed()
    else:
        hearing.resumed()
        assert hearing.sees()
    hearing.alive()

    assert not hearing.unbroken_since(POSTED_MS)
    assert hearing.gap


def test_a_blind_connection_has_heard_nothing_however_alive_it_is(
    hearing: Hearing, times: Times
) -> None:
    hearing.blinded("the channel may not be viewed")
    times.now_ms = 11_000
    hearing.alive()

    assert hearing.fresh
    assert not hearing.unbroken_since(POSTED_MS)


def test_what_was_read_while_a_connection_began_anew_closes_no_gap_of_that_one(
    hearing: Hearing, times: Times
) -> None:
    read_since_ms = hearing.since_ms
    hearing.lost("cut off")
    times.now_ms = 20_000
    hearing.began()

    hearing.caught_up(read_since_ms)
    assert hearing.gap
    hearing.caught_up(hearing.since_ms)
    assert not hearing.gap
