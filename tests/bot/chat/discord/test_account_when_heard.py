"""What waits is of whoever had the account when it was heard, whoever has it once it is worked."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace

import pytest

from bot.chat.discord.views import APPROVE
from lifecycle.answers import Sender
from lifecycle.ports import Transaction
from lifecycle.proposal import ActorKind
from tests.bot.chat.discord.cards import read_again, seeded
from tests.bot.chat.discord.standing import (
    DEPLOY,
    DUAL,
    approved_once,
    counting,
    taken_off_unheard,
    unheard,
)
from tests.bot.chat.discord.test_accounts_moved import (
    Gate,
    anas_account_is_bens,
    are_known_as,
    found_once_all_are_read,
)
from tests.builders import PROD
from tests.fakes.discord_server.state import Message
from tests.fakes.discord_stage import ANA, BEN, CROSS, TICK, DiscordStage, until

Gives = Callable[[DiscordStage, str, Message], Awaitable[None]]


async def held_back(stage: DiscordStage, monkeypatch: pytest.MonkeyPatch) -> Gate:
    """Let all emoji wait that are heard from now on, as for a platform that does not answer."""
    assert stage.surface.listening is not None
    reactions = stage.surface.listening.reactions
    gate = Gate(reactions.reacted)
    monkeypatch.setattr(reactions, "reacted", gate)
    return gate


async def waiting(stage: DiscordStage, count: int) -> None:
    assert stage.surface.listening is not None
    inbox = stage.surface.listening.inbox
    await until(lambda: len(inbox.lanes.events()) == count, f"{count} wait")


async def worked(stage: DiscordStage, gate: Gate) -> None:
    gate.goes_on.set()
    await stage.quiet()
    await read_again(stage)
    await read_again(stage)


async def test_a_check_mark_that_waits_counts_for_nobody_else_than_who_had_the_account_then(
    stage: DiscordStage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Hers counted, she took it off and gave it again: worked as ben's it made up a quorum."""
    proposal_id, card = await approved_once(stage)
    gate = await held_back(stage, monkeypatch)
    stage.server.unreacts(ANA, card, TICK)
    stage.server.reacts(ANA, card, TICK)
    await waiting(stage, 2)
    await anas_account_is_bens(stage)
    await worked(stage, gate)
    assert await counting(stage, proposal_id) == []
    assert stage.tool(DEPLOY).verbs() == []
    assert card.who(TICK) == ["900", ANA], "it is not taken off whoever has the account by now"
    assert any("somebody else's when that was given" in said for said in stage.server.said())

    stage.server.unreacts(ANA, card, TICK)
    stage.server.reacts(ANA, card, TICK)
    await stage.quiet()
    assert await counting(stage, proposal_id) == ["ben"]


async def anas_waits_over_the_end(stage: DiscordStage, monkeypatch: pytest.MonkeyPatch) -> str:
    """Let ana's ✅ be kept when the process ends, and her account be ben's once another begins."""
    proposal_id, card = await seeded(stage, PROD, **DUAL)
    await held_back(stage, monkeypatch)
    stage.server.reacts(ANA, card, TICK)
    await waiting(stage, 1)
    await stage.ends()
    people = dict(stage.policy.people)
    accounts = dict(people["ana"].accounts)
    people["ben"] = replace(people["ben"], accounts={"discord": accounts.pop("discord")})
    people["ana"] = replace(people["ana"], accounts=accounts)
    stage.policy = replace(stage.policy, people=people)
    return proposal_id


async def test_what_was_kept_is_taken_up_before_a_check_mark_that_is_found_counts(
    stage: DiscordStage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The database was slow, and the ✅ that had been kept was found on its card as ben's."""
    proposal_id = await anas_waits_over_the_end(stage, monkeypatch)
    read, slow = stage.store.read, asyncio.Event()

    async def slowly(unit: Callable[[Transaction], object]) -> object:
        if "KeptEvents.all" in str(unit):
            await slow.wait()
        return await read(unit)

    monkeypatch.setattr(stage.store, "read", slowly)
    await stage.begins(connected=False)
    await until(lambda: stage.surface.hearing.connected, "connected")
    for _ in range(3):
        await read_again(stage)
    assert await counting(stage, proposal_id) == []
    slow.set()
    for _ in range(3):
        await read_again(stage)
    assert await counting(stage, proposal_id) == []


async def test_a_check_mark_that_waits_over_a_restart_counts_for_nobody_who_has_the_account_then(
    stage: DiscordStage, monkeypatch: pytest.MonkeyPatch
) -> None:
    proposal_id = await anas_waits_over_the_end(stage, monkeypatch)
    await stage.begins()

    async def refused() -> bool:
        stage.clock.advance(1)  # it waits for the connection
        return bool(await stage.audit("ignored", "not_a_reviewer"))

    await until(refused, "worked")
    await read_again(stage)
    assert await counting(stage, proposal_id) == []


async def presses(stage: DiscordStage, _: str, card: Message) -> None:
    stage.server.clicks(ANA, card, APPROVE)


async def types(stage: DiscordStage, proposal_id: str, _: Message) -> None:
    stage.server.says(ANA, f"!approve {proposal_id}")


@pytest.mark.parametrize("gives", [presses, types])
async def test_an_approval_that_waits_for_its_card_to_be_read_is_nobodys_who_has_the_account_then(
    stage: DiscordStage, gives: Gives
) -> None:
    proposal_id, card = await seeded(stage, PROD)
    assert stage.surface.listening is not None
    stage.surface.listening.reading.doubt()
    gate = asyncio.Event()
    held = stage.server.fails("GET", f"/reactions/|/messages/{card.id}$", gate=gate, times=None)
    await gives(stage, proposal_id, card)
    await until(lambda: held.seen, "the card is read")
    await anas_account_is_bens(stage)
    gate.set()
    await stage.ignored("not_a_reviewer")
    await stage.quiet()
    assert await counting(stage, proposal_id) == []
    assert stage.tool(DEPLOY).verbs() == []


async def test_what_is_found_counts_for_nobody_who_has_the_account_once_all_cards_are_read(
    stage: DiscordStage, monkeypatch: pytest.MonkeyPatch
) -> None:
    proposal_id, card = await seeded(stage, PROD)
    await found_once_all_are_read(stage, monkeypatch, card, anas_account_is_bens)
    await read_again(stage)
    assert await counting(stage, proposal_id) == []
    assert stage.tool(DEPLOY).verbs() == []
    await until(lambda: any(said.startswith("ben: ") for said in stage.server.said()), "told")


async def test_a_stop_that_waits_is_of_whoever_had_the_account_when_it_was_heard(
    stage: DiscordStage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The account was nobody's any more, and what she stopped went on."""
    proposal_id, card = await seeded(stage, PROD)
    gate = await held_back(stage, monkeypatch)
    stage.server.reacts(ANA, card, CROSS)
    await waiting(stage, 1)
    people = dict(stage.policy.people)
    people["ana"] = replace(people["ana"], accounts={})
    await are_known_as(stage, people)
    await worked(stage, gate)
    assert str((await stage.proposal(proposal_id)).decided_by) == "person ana"


async def anas_account_was_zoes(stage: DiscordStage) -> None:
    """Let a config have named somebody who may stop nothing for what is ana's account."""
    people = dict(stage.policy.people)
    ana = people["ana"]
    people["zoe"] = replace(ana, id="zoe", groups=frozenset(), accounts=ana.accounts)
    people["ana"] = replace(ana, accounts={})
    await are_known_as(stage, people)


def crosses(stage: DiscordStage, _: str, card: Message) -> None:
    stage.server.reacts(ANA, card, CROSS)


def rejects(stage: DiscordStage, proposal_id: str, _: Message) -> None:
    stage.server.says(ANA, f"!reject {proposal_id} wrong version")


def sends_the_form(stage: DiscordStage, _: str, card: Message) -> None:
    stage.server.submits(ANA, f"signoff:reason:{card.id}", card, text="wrong version")


def freezes(stage: DiscordStage, _proposal_id: str, _card: Message) -> None:
    stage.server.says(ANA, "!freeze incident 8")


@pytest.mark.parametrize("stops", [crosses, rejects, sends_the_form, freezes])
async def test_a_stop_that_waits_counts_for_who_has_the_account_where_whoever_had_it_may_not_stop(
    stage: DiscordStage,
    monkeypatch: pytest.MonkeyPatch,
    stops: Callable[[DiscordStage, str, Message], None],
) -> None:
    """The config was mended while it waited, and it was refused as the wrong person's."""
    proposal_id, card = await seeded(stage, PROD)
    before = stage.policy.people
    await anas_account_was_zoes(stage)
    await stage.quiet()
    assert stage.surface.listening is not None
    inbox = stage.surface.listening.inbox
    gate = Gate(inbox._work)
    monkeypatch.setattr(inbox, "_work", gate)
    stops(stage, proposal_id, card)
    await waiting(stage, 1)
    zoe = replace(stage.policy.people["zoe"], accounts={})
    await are_known_as(stage, {**before, "zoe": zoe})
    gate.goes_on.set()
    await stage.quiet()
    frozen = await stage.store.read(lambda tx: tx.flags.get("freeze"))
    by = str((await stage.proposal(proposal_id)).decided_by)
    assert frozen["by"] == "ana" if stops is freezes else by == "person ana"


async def test_taking_back_that_waits_withdraws_nobodys_approval_who_has_the_account_then(
    stage: DiscordStage, monkeypatch: pytest.MonkeyPatch
) -> None:
    proposal_id, card = await approved_once(stage)
    gate = await held_back(stage, monkeypatch)
    stage.server.unreacts(ANA, card, TICK)
    await waiting(stage, 1)
    await anas_account_is_bens(stage)
    await stage.workflow.approve(proposal_id, Sender("terminal", ActorKind.PERSON, "ben", "ben"))
    await worked(stage, gate)
    assert await counting(stage, proposal_id) == ["ben"]


async def test_a_check_mark_that_stands_is_left_to_its_event_while_that_waits(
    stage: DiscordStage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was found first, and counted for whoever had the account by then."""
    proposal_id, card = await seeded(stage, PROD, **DUAL)
    gate = await held_back(stage, monkeypatch)
    stage.server.reacts(ANA, card, TICK)
    stage.server.reacts(BEN, card, TICK)
    await waiting(stage, 2)
    stage.clock.advance(181)
    stage.surface.hearing.alive()
    await stage.keeps_house()
    assert await counting(stage, proposal_id) == []
    gate.goes_on.set()
    await stage.reaches(proposal_id, "completed")
    assert await counting(stage, proposal_id) == ["ana", "ben"]
    assert not any(each.found_late for each in await stage.reviews(proposal_id))


async def test_a_check_mark_whose_event_comes_while_its_card_is_read_counts(
    stage: DiscordStage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The reading left it to its event, which was taken for one that the reading had heard."""
    proposal_id, card = await approved_once(stage, BEN)
    assert stage.surface.listening is not None
    catching_up = stage.surface.listening.reactions._catching_up
    gate = Gate(catching_up._stopped)
    monkeypatch.setattr(catching_up, "_stopped", gate)
    unheard(card, ANA, TICK)
    stage.clock.advance(181)
    stage.surface.hearing.alive()
    reading = asyncio.create_task(stage.broadcast.catch_up())
    await gate.reached.wait()
    stage.server.unreacts(BEN, card, TICK)  # it waits until the card is read
    await waiting(stage, 1)
    taken_off_unheard(card, ANA, TICK)
    stage.server.reacts(ANA, card, TICK)
    await waiting(stage, 2)
    gate.goes_on.set()
    await reading
    await stage.quiet()
    assert await counting(stage, proposal_id) == ["ana"]
