"""What a moderator deletes: a card lacks no seeds any more, and what is no card leaves no trace."""

from __future__ import annotations

from tests.bot.chat.discord.cards import seeded
from tests.builders import PROD
from tests.fakes.discord_server.state import CHANNEL, OTHER_CHANNEL, Message
from tests.fakes.discord_stage import ANA, DiscordStage, until

SEEDS = "/reactions/.*/@me$"


async def test_a_deleted_card_is_not_counted_as_one_without_seeds(stage: DiscordStage) -> None:
    refused = stage.server.fails("PUT", SEEDS, status=403, code=50013, times=None)
    proposal_id = await stage.proposes(PROD)
    card = await stage.card(proposal_id)
    await until(lambda: "seeds are missing" in "".join(stage.surface.health()), "told")
    await stage.quiet()
    refused.times = 0
    stage.server.deletes(card)
    await until(lambda: len(stage.server.cards()) == 1 and stage.server.cards()[0] is not card)
    await stage.quiet()
    await until(lambda: "seeds are missing" not in "".join(stage.surface.health()), "true again")


async def is_kept(stage: DiscordStage, channel: str) -> bool:
    """Let something be said and deleted in a channel; say whether the deletion left a row."""
    client = stage.surface.supervisor.client
    assert client is not None
    session = stage.server.gateway.sessions[client.ws.session_id or ""]
    stage.server.deletes(stage.server.says(ANA, "lunch?", channel=channel))
    number, _ = session.sent[-1]  # of the deletion: others may follow before it is worked
    await stage.quiet()
    event_id = f"inbox:{session.id}:{number}"
    now_ms = stage.clock.now_ms()
    return not await stage.store.write(lambda tx: tx.flags.first_time("discord", event_id, now_ms))


async def test_what_is_deleted_in_another_channel_leaves_no_row(stage: DiscordStage) -> None:
    assert await is_kept(stage, CHANNEL)
    assert not await is_kept(stage, OTHER_CHANNEL)


async def test_a_card_posted_again_whose_answer_is_lost_stands_there_once(
    stage: DiscordStage,
) -> None:
    proposal_id, card = await seeded(stage, PROD)
    lost = stage.server.fails("POST", "/messages$", acts=True, says="PROPOSAL", times=1)
    stage.server.deletes(card)
    await until(lambda: lost.times == 0, "posted again, its answer lost")
    stage.server.messages.nonces.clear()  # Discord forgets nonces after a few minutes

    async def stands() -> bool:
        stage.clock.advance(2)
        stage.surface.hearing.alive()
        stage.broadcast.nudge()
        row = await stage.store.read(lambda tx: tx.cards.get(proposal_id, "discord"))
        return row is not None and row.delivered

    await until(stands, "written down")
    assert len(stage.server.cards()) == 1


async def shown_again(stage: DiscordStage, proposal_id: str) -> Message:
    """Return the card that stands and is written down, with no reading of all cards between."""

    async def stands() -> Message | None:
        stage.clock.advance(0.05)
        stage.surface.hearing.alive()
        stage.broadcast.nudge()
        row = await stage.store.read(lambda tx: tx.cards.get(proposal_id, "discord"))
        found = row is not None and row.delivered and row.message_ids[-1]
        return stage.server.state.messages[CHANNEL].get(found) if found else None

    return await until(stands, "shown again", seconds=10)  # type: ignore[no-any-return]


async def test_a_card_that_is_deleted_before_it_is_written_down_is_shown_again_at_once(
    stage: DiscordStage,
) -> None:
    """Whose card it was no row said yet: it counted as shown, and was missed minutes later."""
    proposal_id, card = await seeded(stage, PROD)
    gone: list[Message] = []

    def deleted_at_once(message: Message) -> None:
        if not gone and "PROPOSAL" in str(message.data["embeds"]):
            gone.append(message)
            stage.server.deletes(message)

    stage.server.messages.before_answer = deleted_at_once
    stage.server.messages.after_answer_s = 0.1
    stage.server.deletes(card)
    await until(lambda: gone, "deleted while it was posted")

    assert await shown_again(stage, proposal_id) not in (card, *gone)
    await until(lambda: stage.audit("card_posted"), "noted")
    posted = [row["details"]["message"] for row in await stage.audit("card_posted")]
    deleted = [row["details"]["message_id"] for row in await stage.audit("card_deleted")]
    assert posted[:-1] == deleted == [card.id, gone[0].id]


async def test_a_card_deleted_after_its_answer_was_lost_is_posted_under_another_nonce(
    stage: DiscordStage,
) -> None:
    """Under the same one Discord posts nothing new, and says of the first that it is gone."""
    proposal_id, card = await seeded(stage, PROD)
    lost = stage.server.fails("POST", "/messages$", acts=True, says="PROPOSAL", times=1)
    stage.server.deletes(card)
    await until(lambda: lost.times == 0 and stage.server.cards(), "posted, its answer lost")
    stage.server.deletes(*stage.server.cards())
    await stage.quiet()

    await shown_again(stage, proposal_id)
    assert len(stage.server.cards()) == 1
