"""Which ✅ of a card stand, went, or were given anew, where somebody has had more than one account,
or an account more than one owner."""

from __future__ import annotations

from dataclasses import replace

import pytest

from lifecycle.answers import Sender
from lifecycle.proposal import ActorKind
from tests.bot.chat.discord.cards import read_again, seeded
from tests.bot.chat.discord.standing import (
    DUAL,
    approved_once,
    counting,
    taken_off_unheard,
    unheard,
)
from tests.bot.chat.discord.test_accounts_moved import (
    anas_account_is_bens,
    are_known_as,
)
from tests.bot.chat.discord.test_gone_accounts import Moves, anas_account_is_nobodys, any_move
from tests.builders import PROD
from tests.fakes.clock import FakeClock
from tests.fakes.discord_server.state import GUILD, Message
from tests.fakes.discord_stage import ANA, BEN, CROSS, TICK, DiscordStage, until

_OTHER = "4242"


def ana_on_slack(event_id: str) -> Sender:
    return Sender("slack", ActorKind.PERSON, "ana", "T1/UANA", event_id)


def joins(stage: DiscordStage) -> None:
    """Let ana have another account in the server."""
    state = stage.server.state
    state.users[_OTHER] = {**state.users[ANA], "id": _OTHER}
    state.members[GUILD][_OTHER] = state.members[GUILD][ANA] | {"user": state.users[_OTHER]}


async def anas_account_is(stage: DiscordStage, account: str) -> None:
    """Let a new config name this account as ana's, and as nobody else's."""
    people = dict(stage.policy.people)
    for name, each in people.items():
        others = {where: theirs for where, theirs in each.accounts.items() if theirs != account}
        people[name] = replace(each, accounts=others)
    accounts = {**people["ana"].accounts, "discord": account}
    people["ana"] = replace(people["ana"], accounts=accounts)
    await are_known_as(stage, people)


async def taken_back_on_slack(stage: DiscordStage, proposal_id: str) -> None:
    reply = await stage.workflow.take_back(proposal_id, ana_on_slack("e8"))
    assert reply.done


async def stands_beside(stage: DiscordStage) -> tuple[str, Message]:
    """Let ana approve on Slack, and give a ✅ here as well."""
    proposal_id, card = await seeded(stage, PROD, **DUAL)
    assert (await stage.workflow.approve(proposal_id, ana_on_slack("e7"))).done
    stage.server.reacts(ANA, card, TICK)
    await stage.ignored("already_counted")
    await stage.quiet()
    return proposal_id, card


async def test_one_that_was_taken_back_elsewhere_counts_no_more_whatever_the_clock_was_set_to(
    stage: DiscordStage,
) -> None:
    """An earlier one had gone at a later hour: what merely stood there passed for a new one."""
    proposal_id, card = await approved_once(stage)
    stage.server.unreacts(ANA, card, TICK)
    await stage.quiet()
    await stage.ends()
    stage.clock = FakeClock(stage.clock.now_ms() - 60_000)
    await stage.begins()
    stage.server.reacts(ANA, card, TICK)
    await until(lambda: counting(stage, proposal_id), "counted again")
    await taken_back_on_slack(stage, proposal_id)
    await read_again(stage)
    assert await counting(stage, proposal_id) == []


async def test_one_that_is_gone_was_taken_back_although_the_clock_was_set_back_since_it_was_given(
    stage: DiscordStage,
) -> None:
    """It seemed to have been given after the card was read, for as long as the clock was behind."""
    proposal_id, card = await approved_once(stage)
    await stage.ends()
    stage.clock = FakeClock(stage.clock.now_ms() - 3_600_000)
    taken_off_unheard(card, ANA, TICK)
    await stage.begins()
    await read_again(stage)
    assert await counting(stage, proposal_id) == []


async def test_one_of_two_accounts_says_nothing_new_because_that_of_the_other_went(
    stage: DiscordStage,
) -> None:
    proposal_id, card = await approved_once(stage)
    joins(stage)
    await anas_account_is(stage, _OTHER)
    stage.server.reacts(_OTHER, card, TICK)
    await stage.ignored("already_counted")
    stage.server.unreacts(_OTHER, card, TICK)
    await stage.quiet()
    assert await counting(stage, proposal_id) == []

    await anas_account_is(stage, ANA)
    await read_again(stage)
    assert await counting(stage, proposal_id) == []


async def test_one_beside_an_approval_that_was_only_looked_at_takes_it_back_where_it_goes(
    stage: DiscordStage,
) -> None:
    """The card was looked at before something else counted, and read whole once it was gone."""
    proposal_id, card = await seeded(stage, PROD, **DUAL)
    assert (await stage.workflow.approve(proposal_id, ana_on_slack("e7"))).done
    unheard(card, ANA, TICK)
    assert stage.surface.listening is not None
    stage.surface.listening.reading.doubt()
    stage.clock.advance(1)
    assert await stage.surface.stops_heard(proposal_id)
    taken_off_unheard(card, ANA, TICK)
    await read_again(stage)
    assert await counting(stage, proposal_id) == []


@any_move
async def test_one_beside_an_approval_that_is_gone_took_it_back_whosever_its_account_is_by_now(
    stage: DiscordStage, moves: Moves
) -> None:
    proposal_id, card = await stands_beside(stage)
    taken_off_unheard(card, ANA, TICK)
    await moves(stage)
    await read_again(stage)
    assert await counting(stage, proposal_id) == []


async def test_one_beside_an_approval_is_known_also_where_its_giver_had_given_one_there_before(
    stage: DiscordStage,
) -> None:
    proposal_id, card = await approved_once(stage)
    stage.server.unreacts(ANA, card, TICK)
    await stage.quiet()
    stage.clock.advance(1)
    assert (await stage.workflow.approve(proposal_id, ana_on_slack("e7"))).done
    unheard(card, ANA, TICK)
    await read_again(stage)
    taken_off_unheard(card, ANA, TICK)
    await read_again(stage)
    assert await counting(stage, proposal_id) == []


async def test_one_that_is_found_after_a_clearing_takes_the_approval_back_where_it_goes(
    stage: DiscordStage,
) -> None:
    proposal_id, card = await approved_once(stage)
    stage.server.clears(card)
    await until(lambda: card.who(TICK) == card.who(CROSS) == ["900"], "the seeds are back")
    await stage.quiet()
    unheard(card, ANA, TICK)
    await read_again(stage)
    assert await counting(stage, proposal_id) == ["ana"]
    taken_off_unheard(card, ANA, TICK)
    await read_again(stage)
    assert await counting(stage, proposal_id) == []


async def test_one_that_whoever_had_the_account_between_took_off_takes_nothing_back(
    stage: DiscordStage,
) -> None:
    before = stage.policy.people
    proposal_id, card = await approved_once(stage)
    await anas_account_is_nobodys(stage)
    stage.server.unreacts(ANA, card, TICK)
    await stage.quiet()
    await are_known_as(stage, before)
    await read_again(stage)
    assert await counting(stage, proposal_id) == ["ana"]

    unheard(card, ANA, TICK)
    await read_again(stage)
    taken_off_unheard(card, ANA, TICK)
    await read_again(stage)
    assert await counting(stage, proposal_id) == [], "this one was hers"


async def test_one_that_is_gone_took_its_approval_back_although_anothers_stands_under_the_account(
    stage: DiscordStage,
) -> None:
    """Ana has by now what was ben's account, and his ✅ passed for hers."""
    proposal_id, card = await seeded(stage, PROD, **DUAL)
    stage.server.says(ANA, "!freeze wait")
    await stage.quiet()
    for person in (ANA, BEN):
        stage.server.reacts(person, card, TICK)
    await stage.quiet()
    assert await counting(stage, proposal_id) == ["ana", "ben"]
    taken_off_unheard(card, ANA, TICK)
    await anas_account_is(stage, BEN)
    await read_again(stage)
    assert await counting(stage, proposal_id) == ["ben"]


@pytest.mark.parametrize("owner_takes_it_off", [True, False])
async def test_one_that_is_found_where_anothers_was_heard_to_go_counts_for_whoever_has_the_account(
    stage: DiscordStage, owner_takes_it_off: bool
) -> None:
    """It was refused as the one that had counted for ana."""
    proposal_id, card = await approved_once(stage)
    if owner_takes_it_off:
        stage.server.unreacts(ANA, card, TICK)
        await stage.quiet()
    await anas_account_is_bens(stage)
    stage.clock.advance(1)
    if not owner_takes_it_off:
        stage.server.unreacts(ANA, card, TICK)
        await stage.quiet()
    else:
        await read_again(stage)
    unheard(card, ANA, TICK)
    await read_again(stage)
    counted = await counting(stage, proposal_id)
    assert counted == (["ben"] if owner_takes_it_off else ["ana", "ben"])


async def test_one_that_could_not_be_judged_counts_although_its_giver_had_taken_another_back(
    stage: DiscordStage,
) -> None:
    proposal_id, card = await seeded(stage, PROD, **DUAL)
    assert (await stage.workflow.approve(proposal_id, ana_on_slack("e7"))).done
    await taken_back_on_slack(stage, proposal_id)
    stage.clock.advance(1)
    outage = stage.server.fails("GET", f"/members/{ANA}", status=403, times=None)
    stage.server.reacts(ANA, card, TICK)
    await stage.ignored("not_a_reviewer")
    await stage.quiet()
    outage.times = 0
    await read_again(stage)
    assert await counting(stage, proposal_id) == ["ana"]


async def test_a_new_account_of_the_giver_says_what_it_says_although_nobody_heard_it(
    stage: DiscordStage,
) -> None:
    """They took theirs off, and gave it by the account that a new config names."""
    proposal_id, card = await approved_once(stage)
    stage.server.unreacts(ANA, card, TICK)
    await stage.quiet()
    joins(stage)
    await anas_account_is(stage, _OTHER)
    await read_again(stage)
    unheard(card, _OTHER, TICK)
    await read_again(stage)
    assert await counting(stage, proposal_id) == ["ana"]
