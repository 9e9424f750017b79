"""The reviewers' role is called once a proposal, whatever becomes of an answer of Discord's."""

from __future__ import annotations

from dataclasses import replace

from lifecycle.ports import Transaction
from tests.bot.chat.discord.standing import DUAL
from tests.builders import PROD
from tests.fakes.discord_server.state import APPROVERS_ROLE, CHANNEL
from tests.fakes.discord_stage import ANA, TICK, DiscordStage, until

POSTS = "/channels/701/messages$"
CALL = f"<@&{APPROVERS_ROLE}>"


def calls(stage: DiscordStage) -> int:
    messages = (m.data for m in stage.server.state.messages[CHANNEL].values())
    return sum(CALL in m["content"] and m["author"]["id"] == "900" for m in messages)


async def shown(stage: DiscordStage, proposal_id: str) -> None:
    async def stands() -> bool:
        stage.clock.advance(2)
        stage.surface.hearing.alive()
        stage.broadcast.nudge()
        found = await stage.store.read(lambda tx: tx.cards.get(proposal_id, "discord"))
        return found is not None and found.delivered and found.shown_version == found.wanted_version

    await until(stands, "the card")


async def test_a_card_that_was_posted_with_a_call_and_found_again_calls_nobody_again(
    stage: DiscordStage,
) -> None:
    stage.server.fails("POST", POSTS, acts=True, says="PROPOSAL", times=1)
    proposal_id = stage.sends(PROD, **DUAL)
    await until(stage.server.cards, "posted, its answer lost")
    assert calls(stage) == 1
    stage.server.messages.nonces.clear()  # Discord forgets nonces after a few minutes
    await shown(stage, proposal_id)
    stage.server.reacts(ANA, stage.server.cards()[0], TICK)
    await until(lambda: stage.reviews(proposal_id), "counted")
    await shown(stage, proposal_id)
    await stage.quiet()
    assert calls(stage) == 1


async def needs_people_later(stage: DiscordStage) -> str:
    """Let a card stand whose people were not called when it was posted."""
    proposal_id = await stage.proposes(PROD, **DUAL)

    def uncalled(tx: Transaction) -> None:
        card = tx.cards.get(proposal_id, "discord")
        assert card is not None
        tx.cards.put(replace(card, extra={}, shown_version=0))

    for message in stage.server.cards():
        message.data["content"] = ""
    await stage.store.write(uncalled)
    return proposal_id


async def posted(stage: DiscordStage, proposal_id: str) -> str:
    """Return in which message the card stands, whatever it shows as yet."""
    row = await stage.store.read(lambda tx: tx.cards.get(proposal_id, "discord"))
    assert row is not None
    return row.message_ids[-1]


async def test_a_call_under_a_card_whose_answer_was_lost_is_looked_for_and_not_made_again(
    stage: DiscordStage,
) -> None:
    fault = stage.server.fails("POST", POSTS, acts=True, says="needs you", times=1)
    proposal_id = await needs_people_later(stage)
    stage.broadcast.nudge()
    await until(lambda: fault.times == 0, "called, its answer lost")
    assert calls(stage) == 1
    stage.server.messages.nonces.clear()
    await shown(stage, proposal_id)
    await stage.quiet()
    assert calls(stage) == 1


async def test_a_call_that_never_went_out_is_made(stage: DiscordStage) -> None:
    fault = stage.server.fails("POST", POSTS, says="needs you", times=1)
    proposal_id = await needs_people_later(stage)
    stage.broadcast.nudge()
    await until(lambda: fault.times == 0, "cut before it was made")
    stage.server.says(ANA, f"{CALL} look", reply_to=(await posted(stage, proposal_id)))
    await stage.proposes(PROD, parameters={"version": "v43"}, **DUAL)
    assert calls(stage) == 1, "that card calls for itself alone"
    await shown(stage, proposal_id)
    await until(lambda: calls(stage) == 2, "called")


async def test_where_the_channel_cannot_be_looked_through_nobody_is_called_twice(
    stage: DiscordStage,
) -> None:
    fault = stage.server.fails("POST", POSTS, acts=True, says="needs you", times=1)
    stage.server.fails("GET", POSTS, status=403, code=50013, times=None)
    proposal_id = await needs_people_later(stage)
    stage.broadcast.nudge()
    await until(lambda: fault.times == 0, "called, its answer lost")
    stage.server.messages.nonces.clear()
    await shown(stage, proposal_id)
    assert calls(stage) == 1
