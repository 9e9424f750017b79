"""An emoji that was given before its account got its present owner counts for nobody who has it by
now, however late Discord tells of it, or the bot finds it."""

from __future__ import annotations

from lifecycle.answers import Sender
from lifecycle.proposal import ActorKind
from tests.bot.chat.discord.cards import read_again, seeded
from tests.bot.chat.discord.standing import (
    DEPLOY,
    DUAL,
    approved_once,
    counting,
    state_of,
    taken_off_unheard,
    unheard,
)
from tests.bot.chat.discord.test_accounts_moved import anas_account_is_bens
from tests.bot.chat.discord.test_gone_accounts import anas_account_is_nobodys
from tests.bot.chat.discord.test_hands_changed import anas_account_is, taken_back_on_slack
from tests.builders import PROD
from tests.fakes.discord_stage import ANA, BEN, CROSS, TICK, DiscordStage, until


async def is_cut(stage: DiscordStage) -> None:
    """Let the line break; it cannot be had again for now."""
    stage.clock.advance(1)
    stage.surface.hearing.alive()
    stage.server.gateway.accepts = False
    stage.server.gateway.cut()
    await until(lambda: not stage.surface.hearing.connected, "cut")
    stage.clock.advance(1)


async def stands_again(stage: DiscordStage) -> None:
    """Let the line stand again, and all that was missed be told and worked."""
    stage.clock.advance(1)
    stage.server.gateway.accepts = True
    await until(lambda: stage.surface.hearing.connected, "resumed")
    await stage.quiet()
    assert stage.server.gateway.resumed == 1


async def test_one_that_is_told_once_its_account_is_anothers_counts_for_nobody(
    stage: DiscordStage,
) -> None:
    """It was given while the line was cut, and a new config came before it stood again."""
    proposal_id, card = await seeded(stage, PROD, **DUAL)
    await is_cut(stage)
    stage.server.reacts(ANA, card, TICK)
    await anas_account_is_bens(stage)
    await stands_again(stage)
    await read_again(stage)
    assert await counting(stage, proposal_id) == []
    assert any("somebody else's when that was given" in said for said in stage.server.said())

    stage.server.unreacts(ANA, card, TICK)
    stage.server.reacts(ANA, card, TICK)
    await until(lambda: counting(stage, proposal_id), "given anew")
    assert await counting(stage, proposal_id) == ["ben"]
    assert stage.tool(DEPLOY).verbs() == []


async def test_one_whose_coming_off_is_told_once_its_account_is_anothers_counts_no_more(
    stage: DiscordStage,
) -> None:
    """It was taken for the next owner's, and the approval of who took it off stood."""
    proposal_id, card = await approved_once(stage)
    await is_cut(stage)
    stage.server.unreacts(ANA, card, TICK)
    await anas_account_is_bens(stage)
    await stands_again(stage)
    assert await counting(stage, proposal_id) == []


async def test_one_that_came_off_while_its_account_changed_hands_is_taken_back_by_either(
    stage: DiscordStage,
) -> None:
    """Nobody knows whether ana had taken it off before, or ben after that."""
    proposal_id, card = await seeded(stage, PROD, **DUAL)
    await is_cut(stage)
    stage.server.reacts(ANA, card, TICK)
    await anas_account_is_bens(stage)
    sender = Sender("terminal", ActorKind.PERSON, "ben", "ben", "e7")
    assert (await stage.workflow.approve(proposal_id, sender)).done
    stage.server.unreacts(ANA, card, TICK)
    await stands_again(stage)
    assert await counting(stage, proposal_id) == []


async def test_one_that_another_gave_before_its_account_was_its_owners_again_counts_for_nobody(
    stage: DiscordStage,
) -> None:
    """Of what is told late nobody knows when it was given: ana had the account first, and last."""
    proposal_id, card = await seeded(stage, PROD, **DUAL)
    await is_cut(stage)
    await anas_account_is_bens(stage)
    stage.clock.advance(1)
    stage.server.reacts(ANA, card, TICK)
    stage.clock.advance(1)
    await anas_account_is(stage, ANA)
    await stands_again(stage)
    await read_again(stage)
    assert await counting(stage, proposal_id) == []


async def test_one_that_another_gave_counts_for_nobody_where_its_owners_own_is_told_to_go_late(
    stage: DiscordStage,
) -> None:
    proposal_id, card = await approved_once(stage)
    await is_cut(stage)
    stage.server.unreacts(ANA, card, TICK)
    await anas_account_is_bens(stage)
    stage.clock.advance(1)
    unheard(card, ANA, TICK)
    await anas_account_is(stage, ANA)
    await stands_again(stage)
    await read_again(stage)
    assert await counting(stage, proposal_id) == []


async def test_one_that_is_found_once_its_account_is_anothers_counts_for_nobody(
    stage: DiscordStage,
) -> None:
    proposal_id, card = await seeded(stage, PROD, **DUAL)
    unheard(card, ANA, TICK)
    await anas_account_is_bens(stage)
    await read_again(stage)
    assert await counting(stage, proposal_id) == []
    assert [row["reason"] for row in await stage.audit("ignored")] == ["stale_card"]
    await until(lambda: any(said.startswith("ben: ") for said in stage.server.said()), "told")


async def test_one_that_is_found_after_its_account_was_found_bare_is_its_present_owners(
    stage: DiscordStage,
) -> None:
    proposal_id, card = await seeded(stage, PROD, **DUAL)
    await anas_account_is_bens(stage)
    await read_again(stage)
    unheard(card, ANA, TICK)
    await read_again(stage)
    assert await counting(stage, proposal_id) == ["ben"]


async def test_a_stop_that_is_found_once_its_account_is_nobodys_is_its_givers(
    stage: DiscordStage,
) -> None:
    proposal_id, card = await seeded(stage, PROD, **DUAL)
    unheard(card, ANA, CROSS)
    await anas_account_is_nobodys(stage)
    await read_again(stage)
    assert await state_of(stage, proposal_id) == "rejected"


async def test_what_a_former_owner_did_by_the_account_is_not_what_the_present_one_does(
    stage: DiscordStage,
) -> None:
    """Both had done as much on that card: what the second did was taken for heard before."""
    proposal_id, card = await seeded(stage, PROD, **DUAL)
    for person in ("ben", "ana"):
        unheard(card, BEN, TICK)
        await read_again(stage)
        assert await counting(stage, proposal_id) == [person]
        taken_off_unheard(card, BEN, TICK)
        await read_again(stage)
        assert await counting(stage, proposal_id) == []
        await anas_account_is(stage, BEN)
        await read_again(stage)


async def test_one_that_was_heard_of_the_present_owner_is_theirs_although_anothers_had_counted(
    stage: DiscordStage,
) -> None:
    """Nobody had heard the former owner take theirs off, and it was taken for that."""
    proposal_id, card = await approved_once(stage)
    taken_off_unheard(card, ANA, TICK)
    await taken_back_on_slack(stage, proposal_id)
    stage.server.reacts(BEN, card, TICK)
    await until(lambda: counting(stage, proposal_id), "ben approves")
    await anas_account_is_bens(stage)
    stage.clock.advance(1)
    assert stage.surface.listening is not None
    stage.surface.listening.reactions.known.forget()  # as with every new connection
    stage.server.reacts(ANA, card, TICK)
    await stage.ignored("already_counted")
    await stage.quiet()
    taken_off_unheard(card, BEN, TICK)
    await read_again(stage)
    assert await counting(stage, proposal_id) == ["ben"]
