"""What the bot may not do on Discord is known as such: a list that is empty proves nothing then."""

from __future__ import annotations

import json

from tests.bot.chat.discord.standing import DUAL
from tests.bot.chat.discord.test_called_once import calls, needs_people_later, shown
from tests.builders import PROD, a_document
from tests.fakes.discord_server.state import (
    APPROVERS_ROLE,
    BOT_ROLE,
    CHANNEL,
    FULL,
    GUILD,
    HISTORY,
    MENTION,
)
from tests.fakes.discord_stage import LEILA, TICK, DiscordStage, until

POSTS = "/channels/701/messages$"
SEND_IN_THREADS = 38


async def may_read_no_history(stage: DiscordStage) -> None:
    """Take Read Message History from the bot, and let it be told."""
    stage.server.forbid(HISTORY)
    stage.server.gateway.dispatch("GUILD_CREATE", stage.server.state.guild_json())
    await until(lambda: any("History" in each for each in stage.surface.problems), "told")


async def test_who_may_not_read_history_calls_nobody_twice(stage: DiscordStage) -> None:
    """Discord refuses nothing then: it shows no message."""
    fault = stage.server.fails("POST", POSTS, acts=True, says="needs you", times=1)
    proposal_id = await needs_people_later(stage)
    await may_read_no_history(stage)
    stage.broadcast.nudge()
    await until(lambda: fault.times == 0, "called, its answer lost")
    stage.server.messages.nonces.clear()  # Discord forgets nonces after a few minutes
    await shown(stage, proposal_id)
    assert calls(stage) == 1


async def test_who_may_not_read_history_posts_no_card_twice(stage: DiscordStage) -> None:
    lost = stage.server.fails("POST", POSTS, acts=True, says="PROPOSAL", times=1)
    stage.sends(PROD, **DUAL)
    await until(lambda: lost.times == 0, "posted, its answer lost")
    await may_read_no_history(stage)
    stage.server.messages.nonces.clear()
    for _ in range(5):
        await stage.passes(seconds=61)
        await stage.quiet()
    assert len(stage.server.cards()) == 1
    for role in (BOT_ROLE, GUILD):
        stage.server.state.roles[role]["permissions"] = str(FULL)
    stage.server.gateway.dispatch("GUILD_CREATE", stage.server.state.guild_json())
    await until(lambda: not stage.surface.problems, "told")
    await stage.passes(seconds=61)
    await stage.card("p1")
    assert len(stage.server.cards()) == 1


async def test_an_answer_that_may_reply_to_nothing_is_given_without(stage: DiscordStage) -> None:
    await may_read_no_history(stage)
    document = a_document(PROD, ts_ms=stage.clock.now_ms(), proposal_id="p1", actor="leila")
    stage.server.says(LEILA, f"!propose ```json\n{json.dumps(document)}\n```")
    await until(stage.answers, "the answer")
    await stage.quiet()
    assert [each["proposal_id"] for each in stage.answers()] == ["p1"]


async def test_a_role_that_nobody_may_call_is_named_with_the_remedy(stage: DiscordStage) -> None:
    """As a role is made in Discord nobody may mention it: the call would reach nobody."""
    assert stage.surface.problems == []
    roles = stage.server.state.roles
    roles[APPROVERS_ROLE]["mentionable"] = False
    told = {"guild_id": GUILD, "role": roles[APPROVERS_ROLE]}
    stage.server.gateway.dispatch("GUILD_ROLE_UPDATE", told)
    problems = await until(lambda: stage.surface.problems, "told")
    assert "Allow anyone to @mention this role" in problems[0]
    await stage.proposes(PROD, **DUAL)
    messages = stage.server.state.messages[CHANNEL].values()
    assert not any(message.data["mention_roles"] for message in messages)
    roles[APPROVERS_ROLE]["mentionable"] = True
    stage.server.gateway.dispatch("GUILD_ROLE_UPDATE", told)
    await until(lambda: not stage.surface.problems, "told")
    proposal_id = await stage.proposes()
    assert (await stage.card(proposal_id)).data["mention_roles"] == [APPROVERS_ROLE]


async def test_a_bot_that_may_mention_every_role_needs_no_role_that_lets_it(
    stage: DiscordStage,
) -> None:
    roles = stage.server.state.roles
    roles[APPROVERS_ROLE]["mentionable"] = False
    roles[BOT_ROLE]["permissions"] = str(FULL | 1 << MENTION)
    stage.server.gateway.dispatch("GUILD_CREATE", stage.server.state.guild_json())
    proposal_id = await stage.proposes(PROD, **DUAL)
    card = await stage.card(proposal_id)
    assert card.data["mention_roles"] == [APPROVERS_ROLE]
    assert stage.surface.problems == []
    await until(lambda: TICK in card.reactions, "seeded")


async def test_an_answer_that_may_not_stand_in_its_thread_is_given_in_the_channel(
    stage: DiscordStage,
) -> None:
    stage.server.forbid(SEND_IN_THREADS)
    thread = stage.server.opens_thread(stage.server.says(LEILA, "about invoices"))
    document = a_document(PROD, ts_ms=stage.clock.now_ms(), proposal_id="p1", actor="leila")
    stage.server.says(LEILA, f"!propose ```json\n{json.dumps(document)}\n```", channel=thread)
    await until(stage.answers, "the answer")
    assert [each["proposal_id"] for each in stage.answers()] == ["p1"]
