"""An account that a new config takes from somebody approves nothing in their name any more."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace

import pytest

from bot.chat.discord.views import APPROVE
from bot.chat.hearing.incoming import Incoming
from lifecycle.checking.sentinel_run import Sentinel
from lifecycle.policy import Person
from sentinel_rules import load_rules
from tests.bot.chat.discord.cards import read_again, seeded
from tests.bot.chat.discord.standing import (
    DEPLOY,
    DUAL,
    approved_once,
    counting,
    taken_off_unheard,
    unheard,
)
from tests.builders import MAIL, PROD, a_document
from tests.fakes.discord_server.state import GUILD, Message
from tests.fakes.discord_stage import ANA, TICK, DiscordStage, until
from tests.roads import adopted

_NEW_ACCOUNT = "4242"


async def anas_account_is_another_one(stage: DiscordStage) -> None:
    """Let a new config name another account of ana's, who is a member there as well."""
    members = stage.server.state.members[GUILD]
    theirs = members[ANA]["user"] | {"id": _NEW_ACCOUNT}
    members[_NEW_ACCOUNT] = members[ANA] | {"user": theirs}
    people = dict(stage.policy.people)
    accounts = {**people["ana"].accounts, "discord": _NEW_ACCOUNT}
    people["ana"] = replace(people["ana"], accounts=accounts)
    policy = replace(stage.policy, people=people, digest="pol1_" + "1" * 64)
    await adopted(stage.workflow, policy, Sentinel(load_rules(policy.rules)))


def incoming_of(stage: DiscordStage) -> Incoming:
    assert stage.surface.listening is not None
    return stage.surface.listening._incoming


async def approves_nothing(stage: DiscordStage, proposal_id: str) -> None:
    await stage.ignored("not_a_reviewer")
    await stage.quiet()
    assert await stage.reviews(proposal_id) == []
    assert stage.tool(DEPLOY).verbs() == []


class Gate:
    """Holds whoever comes to a door of ours until it goes on."""

    def __init__(self, door: Callable[..., Awaitable[object]]) -> None:
        self.door, self.reached, self.goes_on = door, asyncio.Event(), asyncio.Event()

    async def __call__(self, *given: object) -> object:
        self.reached.set()
        await self.goes_on.wait()
        return await self.door(*given)


def reacts(stage: DiscordStage, card: Message) -> None:
    stage.server.reacts(ANA, card, TICK)


def presses(stage: DiscordStage, card: Message) -> None:
    stage.server.clicks(ANA, card, APPROVE)


@pytest.mark.parametrize("gives", [reacts, presses])
async def test_what_waits_until_its_card_is_written_down_counts_for_whose_account_it_is_then(
    stage: DiscordStage,
    monkeypatch: pytest.MonkeyPatch,
    gives: Callable[[DiscordStage, Message], None],
) -> None:
    proposal_id, card = await seeded(stage, PROD)
    early = incoming_of(stage).unplaced
    gate = Gate(early._waited_for)
    monkeypatch.setattr(early, "_waited_for", gate)
    gives(stage, card)
    await gate.reached.wait()
    await anas_account_is_another_one(stage)
    gate.goes_on.set()

    await approves_nothing(stage, proposal_id)


@pytest.mark.parametrize("gives", [reacts, presses])
async def test_an_account_that_is_taken_away_while_its_membership_is_read_approves_nothing(
    stage: DiscordStage, gives: Callable[[DiscordStage, Message], None]
) -> None:
    proposal_id, card = await seeded(stage, PROD)
    gate = asyncio.Event()
    held = stage.server.fails("GET", f"/members/{ANA}$", gate=gate)
    gives(stage, card)
    await until(lambda: held.seen, "its membership is asked for")
    await anas_account_is_another_one(stage)
    gate.set()

    await approves_nothing(stage, proposal_id)


async def types(stage: DiscordStage, proposal_id: str) -> None:
    await until(lambda: stage.server.rest.commands, "commands are offered")
    stage.server.runs(ANA, "approve", id=proposal_id, reason="looks right")


async def says(stage: DiscordStage, proposal_id: str) -> None:
    stage.server.says(ANA, f"!approve {proposal_id} looks right")


@pytest.mark.parametrize("gives", [types, says])
async def test_an_account_that_is_taken_away_while_its_card_is_read_approves_nothing(
    stage: DiscordStage, gives: Callable[[DiscordStage, str], Awaitable[None]]
) -> None:
    proposal_id, card = await seeded(stage, PROD)
    assert stage.surface.listening is not None
    stage.surface.listening.reading.doubt()
    gate = asyncio.Event()
    held = stage.server.fails("GET", f"/messages/{card.id}$", gate=gate, times=None)
    await gives(stage, proposal_id)
    await until(lambda: held.seen, "the card is read")
    await anas_account_is_another_one(stage)
    gate.set()

    await approves_nothing(stage, proposal_id)


async def found_once_all_are_read(
    stage: DiscordStage,
    monkeypatch: pytest.MonkeyPatch,
    card: Message,
    moves: Callable[[DiscordStage], Awaitable[None]],
) -> None:
    """Let ana's ✅ be found on a card, and `moves` happen while the other cards are read."""
    assert stage.surface.listening is not None
    elsewhere = stage.surface.listening.reactions._catching_up.elsewhere
    gate = Gate(elsewhere.heard)
    monkeypatch.setattr(elsewhere, "heard", gate)
    unheard(card, ANA, TICK)
    stage.surface.listening.reading.doubt()
    stage.clock.advance(181)
    stage.surface.hearing.alive()
    reading = asyncio.create_task(stage.broadcast.catch_up())
    await gate.reached.wait()
    await moves(stage)
    gate.goes_on.set()
    await reading


async def test_what_is_found_on_a_card_counts_for_whose_account_it_is_once_all_cards_are_read(
    stage: DiscordStage, monkeypatch: pytest.MonkeyPatch
) -> None:
    proposal_id, card = await seeded(stage, PROD)
    await found_once_all_are_read(stage, monkeypatch, card, anas_account_is_another_one)

    await approves_nothing(stage, proposal_id)


async def test_an_account_that_is_taken_away_while_its_file_is_fetched_proposes_nothing(
    stage: DiscordStage,
) -> None:
    await until(lambda: stage.server.rest.commands, "commands are offered")
    gate = asyncio.Event()
    held = stage.server.fails("GET", "/files/", gate=gate)
    document = json.dumps(a_document(MAIL, proposal_id="s1", actor="ana"))
    asked = stage.server.runs(ANA, "propose", files={"mail.json": document.encode()})
    await until(lambda: held.seen, "its file is fetched")
    await anas_account_is_another_one(stage)
    gate.set()

    await until(lambda: "unknown_agent" in asked.text, "answered")
    await stage.quiet()
    assert await stage.audit("submitted") == []


async def anas_account_is_bens(stage: DiscordStage) -> None:
    """Let a new config give ana's account to ben; ana has none on Discord any more."""
    people = dict(stage.policy.people)
    accounts = dict(people["ana"].accounts)
    people["ben"] = replace(people["ben"], accounts={"discord": accounts.pop("discord")})
    people["ana"] = replace(people["ana"], accounts=accounts)
    await are_known_as(stage, people)


async def are_known_as(stage: DiscordStage, people: Mapping[str, Person]) -> None:
    """Let a new config name these people."""
    policy = replace(stage.policy, people=people)
    await adopted(stage.workflow, policy, Sentinel(load_rules(policy.rules)))
    stage.policy = policy


@pytest.mark.parametrize("heard", [True, False])
async def test_one_check_mark_counts_for_one_person_whoever_has_its_account_later(
    stage: DiscordStage, heard: bool
) -> None:
    """It counted once more, and one emoji made up a quorum of two."""
    proposal_id, card = await (approved_once(stage) if heard else seeded(stage, PROD, **DUAL))
    if not heard:
        unheard(card, ANA, TICK)
        await read_again(stage)
    assert await counting(stage, proposal_id) == ["ana"]
    await anas_account_is_bens(stage)
    await read_again(stage)
    await read_again(stage)

    assert await counting(stage, proposal_id) == ["ana"]
    assert stage.tool(DEPLOY).verbs() == []
    assert [row["reason"] for row in await stage.audit("ignored")] == ["stale_card"]
    await until(lambda: any(said.startswith("ben: ") for said in stage.server.said()), "told")

    stage.server.unreacts(ANA, card, TICK)
    stage.server.reacts(ANA, card, TICK)
    await stage.reaches(proposal_id, "completed")
    assert await counting(stage, proposal_id) == ["ana", "ben"]


async def test_who_gives_it_anew_as_they_were_told_is_counted_although_nothing_of_it_was_heard(
    stage: DiscordStage,
) -> None:
    """They were refused once more, and not told."""
    proposal_id, card = await approved_once(stage)
    await anas_account_is_bens(stage)
    await read_again(stage)
    await until(lambda: any(said.startswith("ben: ") for said in stage.server.said()), "told")

    taken_off_unheard(card, ANA, TICK)
    await read_again(stage)
    unheard(card, ANA, TICK)
    await read_again(stage)
    await stage.reaches(proposal_id, "completed")
    assert await counting(stage, proposal_id) == ["ana", "ben"]


async def test_one_check_mark_counts_for_one_person_although_its_account_was_somebody_elses_before(
    stage: DiscordStage,
) -> None:
    """It was seen gone while the account was ben's, and what ana gave later made up a quorum."""
    before = stage.policy.people
    proposal_id, card = await approved_once(stage)
    await anas_account_is_bens(stage)
    await read_again(stage)
    taken_off_unheard(card, ANA, TICK)
    await read_again(stage)
    await are_known_as(stage, before)
    unheard(card, ANA, TICK)
    await read_again(stage)

    await anas_account_is_bens(stage)
    await read_again(stage)
    await read_again(stage)
    assert await counting(stage, proposal_id) == ["ana"]
    assert stage.tool(DEPLOY).verbs() == []

    taken_off_unheard(card, ANA, TICK)
    await read_again(stage)
    unheard(card, ANA, TICK)
    await read_again(stage)
    await stage.reaches(proposal_id, "completed")
    assert await counting(stage, proposal_id) == ["ana", "ben"]


async def test_an_approval_stands_where_its_giver_has_another_account_by_now(
    stage: DiscordStage,
) -> None:
    """No ✅ of the new account stands on the card, and that of the old one seemed to be gone."""
    proposal_id, _ = await approved_once(stage)
    await anas_account_is_another_one(stage)
    await read_again(stage)
    assert await counting(stage, proposal_id) == ["ana"]
