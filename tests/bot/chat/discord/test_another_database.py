"""What stands in the channel since another database: a store in memory that ended with its process,
an empty file, what came after a copy. Ids of proposals come again there, for other documents."""

from __future__ import annotations

from typing import Any

import pytest

from bot.storage.memory import MemoryStore
from tests.bot.chat.discord.cards import seeded
from tests.bot.chat.discord.standing import DEPLOY, state_of, unheard
from tests.builders import PROD
from tests.fakes.discord_server.state import Message
from tests.fakes.discord_stage import ANA, BEN, TICK, DiscordStage, until

POSTS = "/channels/701/messages$"
OTHER: dict[str, Any] = PROD | {
    "parameters": {"version": "v43"},
    "justification": "Something that nobody has looked at yet",
}


async def begins_with_another_database(stage: DiscordStage) -> None:
    await stage.ends()
    stage.store = MemoryStore()
    stage.clock.advance(60)
    await stage.begins()


async def done_before(stage: DiscordStage) -> Message:
    """Let p1 of the former database be approved and done; the ✅ goes on standing on its card."""
    proposal_id, card = await seeded(stage, PROD, proposal_id="p1")
    stage.server.reacts(ANA, card, TICK)
    await stage.reaches(proposal_id, "completed")
    await stage.card(proposal_id)
    await stage.quiet()
    return card


async def is_posted_at_last(stage: DiscordStage, proposal_id: str) -> None:
    """Let a post whose answer was lost be tried again, and what stands on the card be heard."""

    async def noted() -> bool:
        # It is tried again a second after that was noted, and the clock stands still here.
        row = await stage.store.read(lambda tx: tx.cards.get(proposal_id, "discord"))
        return row is not None and (row.attempts > 0 or row.delivered)

    await until(lambda: stage.server.faults[-1].times == 0, "the first post is lost")
    await until(noted, "it is noted that the post failed")
    for _ in range(4):
        stage.clock.advance(4)
        stage.surface.hearing.alive()
        stage.broadcast.nudge()
        await stage.card(proposal_id)
        await stage.keeps_house()
        await stage.quiet()


@pytest.mark.parametrize("document", [OTHER, PROD], ids=["another document", "the same once more"])
async def test_the_card_of_a_former_proposal_of_the_same_id_is_no_card_of_the_new_one(
    stage: DiscordStage, document: dict[str, Any]
) -> None:
    """The ✅ that stands there was given to something else: it executed what nobody had seen."""
    old = await done_before(stage)
    told = old.data["embeds"]
    await begins_with_another_database(stage)
    assert old.who(TICK) == [ANA]

    stage.server.fails("POST", POSTS, says="PROPOSAL")
    proposal_id = stage.sends(document, proposal_id="p1")
    await is_posted_at_last(stage, proposal_id)

    assert await state_of(stage, proposal_id) == "sentinel_approved"
    assert stage.tool(DEPLOY).verbs() == ["execute"], "of the former one alone"
    assert old.data["embeds"] == told, "it goes on telling what was"
    assert len(stage.server.cards()) == 2


async def test_the_card_of_a_former_proposal_that_waited_at_the_same_version_is_none_of_the_new_one(
    stage: DiscordStage,
) -> None:
    _, old = await seeded(stage, PROD, proposal_id="p1")
    unheard(old, ANA, TICK)
    told = old.data["embeds"]
    await begins_with_another_database(stage)

    stage.server.fails("POST", POSTS, says="PROPOSAL")
    proposal_id = stage.sends(OTHER, proposal_id="p1")
    await is_posted_at_last(stage, proposal_id)

    assert await state_of(stage, proposal_id) == "sentinel_approved"
    assert stage.tool(DEPLOY).verbs() == []
    assert old.data["embeds"] == told
    assert len(stage.server.cards()) == 2


async def nothing_waits(stage: DiscordStage) -> bool:
    return not await stage.store.read(lambda tx: tx.outbox.waiting("discord", 2**60, 9))


async def rejected(stage: DiscordStage, document: dict[str, Any], why: str) -> None:
    proposal_id, _ = await seeded(stage, document, proposal_id="p1")
    stage.server.says(BEN, f"!reject {proposal_id} {why}")
    await stage.reaches(proposal_id, "rejected")
    stage.clock.advance(20)
    stage.surface.hearing.alive()
    stage.broadcast.nudge()
    await until(lambda: nothing_waits(stage), "its agent is told")


async def test_the_end_of_a_proposal_is_told_although_one_of_the_same_id_ended_just_before(
    stage: DiscordStage,
) -> None:
    """Discord knows a nonce for some minutes: the word was taken for one that had been said."""
    await rejected(stage, PROD, "the first one")
    await begins_with_another_database(stage)
    await rejected(stage, OTHER, "the second one")

    ends = [said for said in stage.server.said() if said.startswith("leila:")]
    assert ["the first one" in each for each in ends] == [True, False], ends
    assert "the second one" in ends[1]
