"""Notes and answers beside the work: in order to one person, bounded, and nobody's trouble."""

from __future__ import annotations

import asyncio

import pytest

from bot.chat.showing.aside import Asides
from bot.chat.surface import SurfaceFailed


class Saying:
    """What is said, once it may be."""

    def __init__(self) -> None:
        self.may = asyncio.Event()
        self.said: list[str] = []

    async def __call__(self, words: str, *, waits: bool = False, fails: bool = False) -> None:
        if waits:
            await self.may.wait()
        if fails:
            raise SurfaceFailed("no permission")
        self.said.append(words)


@pytest.fixture
def saying() -> Saying:
    return Saying()


async def test_what_is_said_to_one_person_keeps_its_order_and_waits_for_nobody_elses(
    saying: Saying,
) -> None:
    asides = Asides()
    asides.begin(saying("first", waits=True), to="ana")
    asides.begin(saying("second"), to="ana")
    asides.begin(saying("other"), to="ben")
    await asyncio.sleep(0.01)
    assert saying.said == ["other"]
    saying.may.set()
    await asides.settled()
    assert saying.said == ["other", "first", "second"]
    assert asides.quiet


async def test_what_cannot_be_said_stands_in_nobodys_way(saying: Saying) -> None:
    asides = Asides()
    asides.begin(saying("first", fails=True), to="ana")
    asides.begin(saying("second"), to="ana")
    await asides.settled()
    assert saying.said == ["second"]


async def test_of_a_crowd_so_many_are_told_and_the_rest_is_left(
    saying: Saying, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bot.chat.showing.aside._MOST", 2)
    asides = Asides()
    for number in range(5):
        asides.begin(saying(str(number), waits=True))
    saying.may.set()
    await asides.settled()
    assert sorted(saying.said) == ["0", "1"]


async def test_at_the_end_what_was_not_said_is_let_go_of(saying: Saying) -> None:
    asides = Asides()
    asides.begin(saying("first", waits=True), to="ana")
    asides.begin(saying("second"), to="ana")
    await asyncio.sleep(0)
    await asides.close()
    assert saying.said == []
    assert asides.quiet


async def test_a_crowd_of_one_leaves_room_for_everybody_else(
    saying: Saying, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bot.chat.showing.aside._MOST_OF_ONE", 2)
    monkeypatch.setattr("bot.chat.showing.aside._MOST", 4)
    asides = Asides()
    for number in range(5):
        asides.begin(saying(f"{number}", waits=True), to="leila")
    asides.begin(saying("an answer"), to="ana")
    saying.may.set()
    await asides.settled()
    assert sorted(saying.said) == ["0", "1", "an answer"]
    asides.begin(saying("later"), to="leila")
    await asides.settled()
    assert saying.said[-1] == "later"
