"""A check mark on a Discord card whose approval is void or was taken back is no new approval."""

from __future__ import annotations

from bot.chat.hearing.catching_up import CatchingUp
from bot.chat.hearing.found import Found
from bot.chat.hearing.lanes import Lanes
from lifecycle.answers import Sender
from lifecycle.clockwork.restored import bring_back
from lifecycle.proposal import ActorKind
from tests.bot.chat.discord.cards import read_again, seeded
from tests.bot.chat.discord.standing import (
    DEPLOY,
    DUAL,
    approved_once,
    counting,
    newest,
    state_of,
    taken_off_unheard,
    unheard,
    void_by_policy,
)
from tests.builders import PROD
from tests.fakes.discord_server.state import CHANNEL
from tests.fakes.discord_stage import ANA, BEN, TICK, DiscordStage, until
from tests.roads import trail_of


async def test_an_approval_made_void_by_a_policy_does_not_come_back_with_its_standing_check_mark(
    stage: DiscordStage,
) -> None:
    proposal_id, card = await void_by_policy(stage)
    await read_again(stage)
    await read_again(stage)
    assert ANA in card.who(TICK)
    assert await counting(stage, proposal_id) == []
    assert await state_of(stage, proposal_id) == "sentinel_approved"
    assert stage.tool(DEPLOY).calls == []


async def test_a_check_mark_put_back_after_a_policy_made_it_void_counts_again(
    stage: DiscordStage,
) -> None:
    proposal_id, card = await void_by_policy(stage)
    await read_again(stage)
    stage.server.unreacts(ANA, card, TICK)
    stage.server.reacts(ANA, card, TICK)
    await stage.reaches(proposal_id, "completed")
    assert await counting(stage, proposal_id) == ["ana"]
    assert not (await newest(stage, proposal_id)).found_late


def told_void(stage: DiscordStage) -> list[str]:
    return [said for said in stage.server.said() if "does not count any more" in said]


async def test_whose_check_mark_stands_for_a_void_approval_is_told_so_once(
    stage: DiscordStage,
) -> None:
    proposal_id, card = await void_by_policy(stage)
    for _ in range(3):
        await read_again(stage)
        await stage.workflow.idle()
    (words,) = told_void(stage)
    assert words.startswith("ana: Your ✅ stands here")
    assert "the policy changed" in words
    assert f"/{CHANNEL}/{card.id}" in words
    assert [row["actor"]["id"] for row in await stage.audit("ignored", "stale_card")] == ["ana"]
    stage.policy = stage.workflow.policy
    await stage.restarts()
    await read_again(stage)
    await stage.workflow.idle()
    assert len(told_void(stage)) == 1
    assert await state_of(stage, proposal_id) == "sentinel_approved"


async def test_whose_check_mark_is_found_on_the_card_posted_anew_is_told_that_it_does_not_count(
    stage: DiscordStage,
) -> None:
    proposal_id, card = await void_by_policy(stage)
    stage.server.deletes(card)
    await until(lambda: stage.server.cards() and stage.server.cards()[-1].id != card.id, "anew")
    anew = await stage.card(proposal_id)
    await stage.quiet()
    unheard(anew, ANA, TICK)
    await read_again(stage)
    await until(lambda: told_void(stage), "told")
    assert await counting(stage, proposal_id) == []


async def test_an_approval_taken_back_on_another_surface_stays_so_while_its_check_mark_stands(
    stage: DiscordStage,
) -> None:
    proposal_id, card = await approved_once(stage, BEN)
    ben = Sender("slack", ActorKind.PERSON, "ben", "T1/UBEN")
    assert (await stage.workflow.take_back(proposal_id, ben)).done
    await read_again(stage)
    assert BEN in card.who(TICK)
    assert await counting(stage, proposal_id) == []
    assert told_void(stage) == [], "it was ben's own doing"
    stage.server.reacts(ANA, card, TICK)
    await stage.quiet()
    assert await counting(stage, proposal_id) == ["ana"]
    assert stage.tool(DEPLOY).calls == []


async def test_a_check_mark_seen_gone_from_its_card_and_found_there_after_an_absence_counts(
    stage: DiscordStage,
) -> None:
    proposal_id, card = await approved_once(stage, BEN)
    stage.server.unreacts(BEN, card, TICK)
    await stage.quiet()
    assert await counting(stage, proposal_id) == []
    await stage.ends()
    stage.server.reacts(BEN, card, TICK)
    await stage.begins()
    await stage.quiet()
    assert await counting(stage, proposal_id) == ["ben"]
    assert (await newest(stage, proposal_id)).found_late


async def test_a_void_check_mark_seen_gone_and_found_again_after_an_absence_counts(
    stage: DiscordStage,
) -> None:
    proposal_id, card = await void_by_policy(stage)
    stage.server.unreacts(ANA, card, TICK)
    await stage.quiet()
    stage.policy = stage.workflow.policy
    await stage.ends()
    stage.server.reacts(ANA, card, TICK)
    await stage.begins()
    await stage.quiet()
    assert await counting(stage, proposal_id) == ["ana"]


async def test_a_void_check_mark_that_was_read_gone_counts_when_it_is_found_again(
    stage: DiscordStage,
) -> None:
    proposal_id, card = await void_by_policy(stage)
    await read_again(stage)
    taken_off_unheard(card, ANA, TICK)
    await read_again(stage)
    assert await counting(stage, proposal_id) == []

    unheard(card, ANA, TICK)
    await read_again(stage)

    assert await counting(stage, proposal_id) == ["ana"]
    await stage.reaches(proposal_id, "completed")


async def taken_back_on_slack(stage: DiscordStage, proposal_id: str) -> None:
    ben = Sender("slack", ActorKind.PERSON, "ben", "T1/UBEN")
    assert (await stage.workflow.take_back(proposal_id, ben)).done


async def test_who_took_it_back_elsewhere_approves_again_with_a_check_mark_that_is_new_on_the_card(
    stage: DiscordStage,
) -> None:
    proposal_id, card = await approved_once(stage, BEN)
    await taken_back_on_slack(stage, proposal_id)
    taken_off_unheard(card, BEN, TICK)
    await read_again(stage)
    assert await counting(stage, proposal_id) == []

    unheard(card, BEN, TICK)
    await read_again(stage)

    assert await counting(stage, proposal_id) == ["ben"]


async def test_what_is_taken_back_elsewhere_while_the_card_is_read_does_not_count_when_it_is_found(
    stage: DiscordStage,
) -> None:
    proposal_id, card = await seeded(stage, PROD, **DUAL)
    ben = Sender("slack", ActorKind.PERSON, "ben", "T1/UBEN")
    assert (await stage.workflow.approve(proposal_id, ben)).done
    row = (await stage.store.read(lambda tx: tx.cards.of(proposal_id)))[0]
    nobody = Found(asked_ms=stage.clock.now_ms())
    unheard(card, BEN, TICK)
    stage.clock.advance(1)
    await taken_back_on_slack(stage, proposal_id)
    await CatchingUp(stage.workflow, "discord", Lanes(whole=True)).apply(row, nobody)

    await read_again(stage)

    assert await counting(stage, proposal_id) == []


async def test_a_check_mark_that_is_found_gone_was_gone_when_the_card_was_read(
    stage: DiscordStage,
) -> None:
    """Judging it may wait; the trail tells since when it was known."""
    proposal_id, _ = await approved_once(stage, BEN)
    row = (await stage.store.read(lambda tx: tx.cards.of(proposal_id)))[0]
    stage.clock.advance(1)
    read_ms = stage.clock.now_ms()
    stage.clock.advance(40)

    nobody = Found(asked_ms=read_ms, seeded=True)
    await CatchingUp(stage.workflow, "discord", Lanes(whole=True)).apply(row, nobody)

    assert await counting(stage, proposal_id) == []
    trail = await stage.store.read(lambda tx: trail_of(tx, proposal_id))
    (told,) = (each.event for each in trail if each.event.kind == "approval_taken_back")
    assert told.details["heard_at_ms"] == read_ms


async def test_whose_check_mark_is_found_after_a_restore_is_told_that_it_does_not_count(
    stage: DiscordStage,
) -> None:
    """It may be from before: what it opened, the copy does not know."""
    proposal_id = await stage.proposes()
    card = await stage.card(proposal_id)
    await stage.quiet()
    moment = stage.workflow.world.moment()
    await stage.workflow.world.store.write(lambda tx: bring_back(tx, moment, "copy.db"))
    unheard(card, ANA, TICK)

    for _ in range(3):
        await read_again(stage)
        await stage.workflow.idle()

    (words,) = [said for said in stage.server.said() if "brought back from a copy, and" in said]
    assert "take the ✅ off and give it again" in words
    assert await counting(stage, proposal_id) == []
    assert await state_of(stage, proposal_id) == "sentinel_approved"
