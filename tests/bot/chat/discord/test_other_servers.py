"""Another server than Discord's, or a proxy before it, may answer otherwise than Discord does."""

from __future__ import annotations

import pytest

from bot.chat.discord import rest
from tests.bot.chat.discord.cards import read_again, seeded
from tests.bot.chat.discord.standing import counting, unread_reviewer
from tests.builders import PROD
from tests.fakes.discord_server.state import BOT, BOT_ROLE, FULL, GUILD
from tests.fakes.discord_stage import ANA, BEN, CROSS, TICK, DiscordStage, until

ADD_REACTIONS = 6


async def test_json_that_says_how_its_letters_are_written_is_read(unstarted: DiscordStage) -> None:
    """Behind a framework or a proxy that adds a charset the bot tried to log in for ever."""
    unstarted.server.adds_to_types = "; charset=utf-8"
    await unstarted.begins()
    card = await unstarted.card(await unstarted.proposes(PROD))
    unstarted.server.says(ANA, "!nonsense")
    unstarted.server.reacts(BEN, card, CROSS)
    await unstarted.reaches("p1", "rejected")
    answered = unstarted.server.runs(ANA, "pending")
    await until(lambda: answered.text, "the slash command is answered")


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ({"status": 404}, "Discord answered 404 to GET /api/v10/oauth2/applications/@me"),
        ({"status": 200, "page": True}, "said cannot be read"),
        ({"status": 200, "page": "{"}, "said cannot be read"),
    ],
)
async def test_what_keeps_the_bot_from_logging_in_is_told_in_words(
    unstarted: DiscordStage, answer: dict[str, object], words: str
) -> None:
    unstarted.server.fails("GET", "/oauth2/applications/@me", **answer, times=None)
    await unstarted.begins(connected=False)
    await until(lambda: words in "".join(unstarted.surface.health()), words)
    unstarted.server.faults.clear()
    await unstarted.hears()


async def test_seeds_that_were_refused_are_put_once_the_bot_may_react(stage: DiscordStage) -> None:
    """They lacked until the next restart, and `status` went on to say so."""
    stage.server.forbid(ADD_REACTIONS)
    stage.server.gateway.dispatch("GUILD_CREATE", stage.server.state.guild_json())
    await until(lambda: any("Add Reactions" in each for each in stage.surface.problems), "told")
    card = await stage.card(await stage.proposes(PROD))
    await until(lambda: stage.surface.seeds.missing, "refused")

    for role in (BOT_ROLE, GUILD):
        stage.server.state.roles[role]["permissions"] = str(FULL)
    stage.server.gateway.dispatch("GUILD_CREATE", stage.server.state.guild_json())
    await until(lambda: BOT in card.who(TICK) and BOT in card.who(CROSS), "seeded")
    await until(lambda: not stage.surface.seeds.missing, "nothing lacks")


async def test_seeds_that_were_refused_are_tried_again_when_their_card_changes(
    stage: DiscordStage,
) -> None:
    """A server may refuse them although its permissions say that they are allowed."""
    refused = stage.server.fails("PUT", "/reactions/", status=403, code=50013, times=None)
    card = await stage.card(await stage.proposes(PROD, approval_class="dual"))
    await until(lambda: stage.surface.seeds.missing, "refused")
    refused.times = 0
    stage.server.reacts(ANA, card, TICK)
    await until(lambda: BOT in card.who(TICK) and BOT in card.who(CROSS), "seeded")


async def test_status_says_that_nobody_can_approve_while_members_are_unknown(
    stage: DiscordStage,
) -> None:
    proposal_id, _, outage = await unread_reviewer(stage)
    assert "does not say who is a member" in "".join(stage.surface.health())
    outage.times = 0
    stage.server.says(ANA, f"!approve {proposal_id}")
    await stage.reaches(proposal_id, "completed")
    assert "who is a member" not in "".join(stage.surface.health())


async def test_status_goes_on_to_say_so_while_one_of_several_is_unknown_and_no_longer(
    stage: DiscordStage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A slow answer at night was told until somebody approved; another's hid that of the first."""
    stage.server.fails("GET", f"/members/{ANA}", status=403, times=None)
    assert await stage.surface.rest.member(ANA) is None
    assert await stage.surface.rest.member(BEN)
    assert "does not say who is a member" in "".join(stage.surface.health())

    monkeypatch.setattr(rest, "_LATELY_S", 0.0)
    assert "does not say who is a member" not in "".join(stage.surface.health())


async def test_a_server_that_knows_no_super_reactions_lets_people_take_their_approval_back(
    stage: DiscordStage,
) -> None:
    """It names everybody in both lists: a ✅ that was taken off seemed to stand in the second."""
    stage.server.reactions.knows_types = False
    proposal_id, card = await seeded(stage, PROD, approval_class="dual")
    stage.server.reacts(ANA, card, TICK)
    await stage.quiet()
    await read_again(stage)
    assert await counting(stage, proposal_id) == ["ana"]
    stage.server.unreacts(ANA, card, TICK)
    await stage.quiet()
    assert await counting(stage, proposal_id) == []


async def test_an_emoji_of_which_its_kind_is_not_told_is_heard_at_once(
    stage: DiscordStage,
) -> None:
    """It was heard three minutes later, when its card was read for other reasons."""
    proposal_id, card = await seeded(stage, PROD, approval_class="dual")
    tell = stage.server.reactions.tell

    def without_kind(event: str, data: dict[str, object]) -> None:
        tell(event, {name: value for name, value in data.items() if name not in ("type", "burst")})

    stage.server.reactions.tell = without_kind
    stage.server.reacts(ANA, card, TICK)
    await stage.quiet()
    assert await counting(stage, proposal_id) == ["ana"]
    stage.server.unreacts(ANA, card, TICK)
    await stage.quiet()
    assert await counting(stage, proposal_id) == []
    stage.server.reacts(BEN, card, CROSS)
    await stage.quiet()
    assert (await stage.proposal(proposal_id)).state.value == "rejected"


@pytest.mark.usefixtures("identified_at_once")
async def test_status_says_so_while_cards_cannot_be_read_after_a_gap(stage: DiscordStage) -> None:
    await seeded(stage, PROD)
    outage = stage.server.fails("GET", "/channels/701/messages/", status=403, times=None)
    stage.server.gateway.send_op(9, False)
    await until(lambda: "until they are read" in "".join(stage.surface.health()), "told")
    outage.times = 0
    await read_again(stage)
    assert "until they are read" not in "".join(stage.surface.health())
