"""An event that discord.py cannot read ends no connection, and nothing becomes final over it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.bot.chat.discord.cards import in_window, seeded
from tests.bot.chat.discord.standing import WINDOW_S, unheard
from tests.fakes.discord_server.state import (
    BOT,
    FOREIGN_CHANNEL,
    FOREIGN_GUILD,
    Message,
)
from tests.fakes.discord_stage import BEN, CROSS, DiscordStage, until

HIDDEN = {"embeds": [], "flags": 1 << 2}


def place(message: Message) -> dict[str, Any]:
    """Return what every event about a message says."""
    ids = {"id": message.id, "message_id": message.id, "guild_id": "700"}
    return {**ids, "channel_id": message.data["channel_id"]}


async def test_an_edit_that_says_only_what_changed_is_read_as_any_other(
    stage: DiscordStage,
) -> None:
    _, card = await seeded(stage)
    identified, shown = stage.server.gateway.identified, list(card.data["embeds"])
    card.data |= HIDDEN
    stage.server.gateway.dispatch("MESSAGE_UPDATE", place(card) | HIDDEN)
    await until(lambda: card.data["embeds"] == shown, "shown again")
    assert stage.server.gateway.identified == identified


@pytest.mark.parametrize(
    ("event", "how"),
    [
        ("MESSAGE_REACTION_ADD", {"user_id": BEN, "emoji": {"name": CROSS, "id": None}}),
        ("MESSAGE_CREATE", {"content": "!reject p1 no"}),
        ("MESSAGE_UPDATE", {"thread": None}),
        ("MESSAGE_DELETE", {"id": "no number"}),
        ("INTERACTION_CREATE", {"type": 3}),
    ],
)
async def test_what_cannot_be_read_has_the_cards_read_and_ends_no_connection(
    stage: DiscordStage, event: str, how: dict[str, Any]
) -> None:
    proposal_id, card = await in_window(stage)
    identified = stage.server.gateway.identified
    unheard(card, BEN, CROSS)
    stage.server.gateway.dispatch(event, place(card) | how)
    await until(stage._all_heard, "heard, and not understood")
    stage.clock.advance(WINDOW_S + 1)
    stage.surface.hearing.alive()
    await stage.workflow.close_due()
    await stage.reaches(proposal_id, "rolled_back")
    assert stage.server.gateway.identified == identified


@pytest.mark.parametrize(
    ("event", "how"),
    [
        ("GUILD_CREATE", {"id": FOREIGN_GUILD, "roles": [{"id": "no number"}]}),
        ("GUILD_UPDATE", {"id": FOREIGN_GUILD, "roles": None}),
        ("CHANNEL_CREATE", {"guild_id": FOREIGN_GUILD, "id": None, "type": 0}),
        ("THREAD_CREATE", {"guild_id": FOREIGN_GUILD, "id": "5"}),
        ("GUILD_ROLE_CREATE", {"guild_id": FOREIGN_GUILD, "role": {}}),
    ],
)
async def test_no_other_server_that_has_the_bot_can_end_its_connection(
    stage: DiscordStage, event: str, how: dict[str, Any]
) -> None:
    state, gateway = stage.server.state, stage.server.gateway
    proposal_id, card = await seeded(stage)
    state.join(BOT, guild=FOREIGN_GUILD)
    gateway.dispatch("GUILD_CREATE", state.guild_json(FOREIGN_GUILD))
    identified = gateway.identified

    gateway.dispatch(event, how)
    stage.server.reacts(BEN, card, CROSS)

    await stage.reaches(proposal_id, "rejected")
    assert gateway.identified == identified


async def test_another_server_that_can_never_be_read_does_not_keep_the_bot_from_its_own(
    unstarted: DiscordStage,
) -> None:
    state = unstarted.server.state
    state.join(BOT, guild=FOREIGN_GUILD)
    state.channels[FOREIGN_CHANNEL]["id"] = None
    await unstarted.begins()
    proposal_id, card = await seeded(unstarted)
    unstarted.server.reacts(BEN, card, CROSS)
    await unstarted.reaches(proposal_id, "rejected")
    assert unstarted.server.gateway.identified == 1


async def test_what_cannot_be_read_of_the_own_server_has_a_fresh_client_made(
    stage: DiscordStage, identified_at_once: None
) -> None:
    identified = stage.server.gateway.identified
    stage.server.gateway.dispatch("CHANNEL_CREATE", {"guild_id": "700", "id": None, "type": 0})
    await until(lambda: stage.server.gateway.identified > identified, "a fresh client")
    await stage.hears()
