"""The bot may get another application, and so another account. Discord lets nobody edit what
somebody else posted: such a card, and such a board, would show an old state for ever."""

from __future__ import annotations

from tests.builders import MAIL, PROD
from tests.fakes.discord_server.state import BOT, CHANNEL, Message
from tests.fakes.discord_stage import ANA, BEN, CROSS, TICK, DiscordStage, until

FORMER = "955"


def is_replaced(stage: DiscordStage) -> None:
    """Let another account have posted all that the bot has posted so far."""
    state = stage.server.state
    former = state.users[BOT] | {"id": FORMER, "username": "former"}
    state.users[FORMER] = former
    for message in state.messages[CHANNEL].values():
        if message.data["author"]["id"] == BOT:
            message.data["author"] = former
        for lists in message.reactions.values():
            lists[0][:] = [FORMER if user == BOT else user for user in lists[0]]


async def begins_under_another(stage: DiscordStage) -> None:
    """Restart the bot under another account."""
    await stage.quiet()
    await stage.ends()
    is_replaced(stage)
    await stage.begins()


def boards(stage: DiscordStage) -> list[Message]:
    found = stage.server.state.messages[CHANNEL].values()
    return [m for m in found if "Kept current by" in str(m.data["embeds"])]


async def test_a_card_and_a_board_of_the_former_account_are_posted_anew(
    stage: DiscordStage,
) -> None:
    proposal_id = await stage.proposes(PROD, approval_class="dual")
    former = await stage.card(proposal_id)
    await until(lambda: boards(stage), "the board")
    await begins_under_another(stage)
    stage.server.reacts(ANA, former, TICK)
    await until(lambda: stage.server.cards(), "a card of the present account")
    card = await stage.card(proposal_id)
    assert card.id != former.id
    await until(lambda: boards(stage)[-1].data["author"]["id"] == BOT, "a board of its own")
    stage.server.reacts(BEN, card, TICK)
    await stage.reaches(proposal_id, "completed")


async def test_a_stop_that_nobody_heard_on_it_is_carried_out(stage: DiscordStage) -> None:
    proposal_id = await stage.proposes(MAIL)
    card = await stage.card(proposal_id)
    await stage.quiet()
    edits = stage.server.fails("PATCH", "/messages/", status=500, times=None)
    stage.server.reacts(ANA, card, TICK)
    await stage.reaches(proposal_id, "executing")
    await stage.ends()
    stage.server.reacts(BEN, card, CROSS)
    is_replaced(stage)
    edits.times = 0
    stage.clock.advance(60)
    reading = stage.server.fails("GET", f"/messages/{card.id}$", status=503, times=None)
    await stage.begins(connected=False)
    await until(lambda: reading.seen > 1, "it is read by a reading and before it is left")
    assert stage.server.cards() == []
    reading.times = 0
    stage.surface.hearing.alive()
    await stage.passes(seconds=20)
    await stage.reaches(proposal_id, "rolled_back")


async def test_the_card_of_what_has_ended_is_tried_once(stage: DiscordStage) -> None:
    proposal_id = await stage.proposes(PROD)
    card = await stage.card(proposal_id)
    await begins_under_another(stage)
    stage.server.reacts(BEN, card, CROSS)
    await stage.reaches(proposal_id, "rejected")
    tried = f"/messages/{card.id}$"
    await until(lambda: stage.server.called("PATCH", tried), "an edit")
    for _ in range(4):  # after five minutes it would say that nobody gave a reason
        await stage.passes(seconds=61)
        await stage.broadcast.delivery("discord").drain()
    assert len(stage.server.called("PATCH", tried)) == 1


async def test_a_check_mark_on_a_former_card_is_refused_and_told_although_something_was_missed(
    stage: DiscordStage,
) -> None:
    """The card that counts was read, where it does not stand: it seemed to be taken off."""
    proposal_id = await stage.proposes(PROD, approval_class="dual")
    former = await stage.card(proposal_id)
    await begins_under_another(stage)
    stage.server.reacts(ANA, former, TICK)
    await until(lambda: stage.server.cards(), "a card of the present account")
    await stage.card(proposal_id)
    await stage.quiet()
    stage.clock.advance(5)
    stage.surface.missed()
    stage.server.reacts(BEN, former, TICK)
    await stage.ignored("stale_card")
    await until(lambda: any("an old one" in said for said in stage.server.said()), "told")
