"""Who is no member any more, over all surfaces: a person on none of them, an account on one."""

from __future__ import annotations

from tests.bot.chat.delivering import Stage
from tests.fakes.surface import FakeSurface


async def test_a_person_is_lost_only_where_no_account_of_theirs_is_left() -> None:
    discord, slack = FakeSurface("discord"), FakeSurface("slack")
    stage = Stage(discord, slack)
    discord.members = {"ana": False, "dee": False, "ben": True}
    slack.members = {"ana": True, "ben": True}

    lost = await stage.broadcast.lost_members(["ana", "ben", "dee", "cal"])
    assert {each for each in lost if isinstance(each, str)} == {"dee"}


async def test_an_account_is_lost_although_another_of_its_person_is_not() -> None:
    discord, slack = FakeSurface("discord"), FakeSurface("slack")
    stage = Stage(discord, slack)
    discord.members = {"ana": False, "ben": None}
    slack.members = {"ana": True, "ben": True}

    banned, unread = ("ana", "discord"), ("ben", "discord")
    assert await stage.broadcast.lost_members(["ana", "ben"]) == {banned, unread}
    assert await stage.broadcast.lost_members(["ana", "ben"], only_certain=True) == {banned}


async def test_who_cannot_be_read_is_lost_but_not_surely() -> None:
    discord, slack = FakeSurface("discord"), FakeSurface("slack")
    stage = Stage(discord, slack)
    discord.members = {"ana": None, "dee": False, "ben": None}
    slack.members = {"ana": False, "ben": True}

    lost = await stage.broadcast.lost_members(["ana", "ben", "dee"])
    assert {"ana", "dee"} < lost
    assert "ben" not in lost
    surely = await stage.broadcast.lost_members(["ana", "ben", "dee"], only_certain=True)
    assert {each for each in surely if isinstance(each, str)} == {"dee"}
