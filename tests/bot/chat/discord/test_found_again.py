"""What may stand unheard on a card is looked at before a ✅ on it counts, whatever hid it."""

from __future__ import annotations

from typing import Any

import pytest

from lifecycle.ports import StoreUnavailable
from tests.bot.chat.discord.cards import seeded
from tests.bot.chat.discord.standing import DEPLOY, state_of, unheard
from tests.builders import PROD
from tests.fakes.discord_server.state import BOT, CHANNEL, GUILD, Message
from tests.fakes.discord_stage import ANA, BEN, CAL, CROSS, TICK, DiscordStage, until

POSTS = "/channels/701/messages$"
READS = "/messages/\\d+$"


async def its_answer_is_lost(stage: DiscordStage) -> tuple[str, Message]:
    """Let a card be posted of which the bot does not know that it stands."""
    stage.server.fails("POST", POSTS, acts=True, says="PROPOSAL", times=1)
    proposal_id = stage.sends(PROD)
    await until(stage.server.cards, "posted, its answer lost")
    return proposal_id, stage.server.cards()[0]


async def is_found(stage: DiscordStage, proposal_id: str) -> None:
    stage.clock.advance(4)
    stage.surface.hearing.alive()
    stage.broadcast.nudge()
    await stage.card(proposal_id)
    assert len(stage.server.cards()) == 1


async def given_meanwhile(stage: DiscordStage, monkeypatch: pytest.MonkeyPatch) -> str:
    """Let a ❌ be given on a card before anybody knows that it is one, and the card be found."""
    monkeypatch.setattr("bot.chat.discord.reactions._EARLY_S", (0.01,))
    unread = stage.server.fails("GET", POSTS, status=500, times=None)
    proposal_id, card = await its_answer_is_lost(stage)
    stage.server.reacts(BEN, card, CROSS)
    await stage.ignored("unknown_proposal")
    unread.times = 0
    await is_found(stage, proposal_id)
    await stage.quiet()
    return proposal_id


async def test_a_stop_given_on_a_card_before_it_was_found_again_is_heard_before_an_approval_counts(
    stage: DiscordStage, monkeypatch: pytest.MonkeyPatch
) -> None:
    proposal_id = await given_meanwhile(stage, monkeypatch)
    stage.server.reacts(ANA, await stage.card(proposal_id), TICK)
    await stage.reaches(proposal_id, "rejected")
    assert stage.tool(DEPLOY).verbs() == []


async def test_a_card_that_was_found_again_is_read_soon(
    stage: DiscordStage, monkeypatch: pytest.MonkeyPatch
) -> None:
    proposal_id = await given_meanwhile(stage, monkeypatch)
    await stage.broadcast.catch_up()
    await stage.quiet()
    assert await state_of(stage, proposal_id) == "rejected"
    before = len(stage.server.called("GET", READS))
    await stage.broadcast.catch_up()
    assert len(stage.server.called("GET", READS)) == before, "once"


async def test_a_card_on_which_somebody_decides_is_looked_for_at_once_whatever_pause_it_had(
    stage: DiscordStage,
) -> None:
    proposal_id, card = await its_answer_is_lost(stage)
    stage.server.reacts(BEN, card, CROSS)
    await stage.reaches(proposal_id, "rejected")
    assert len(stage.server.cards()) == 1


async def test_a_stop_given_on_a_card_that_a_crash_left_unnoted_is_heard_before_an_approval_counts(
    stage: DiscordStage,
) -> None:
    proposal_id, card = await its_answer_is_lost(stage)
    await stage.ends()
    unheard(card, BEN, CROSS)
    stage.server.messages.nonces.clear()
    stage.clock.advance(120)
    await stage.begins()
    await is_found(stage, proposal_id)
    await stage.quiet()
    stage.server.reacts(ANA, card, TICK)
    await stage.reaches(proposal_id, "rejected")
    assert stage.tool(DEPLOY).verbs() == []


async def test_a_card_whose_place_could_not_be_written_down_is_not_posted_twice(
    stage: DiscordStage, monkeypatch: pytest.MonkeyPatch
) -> None:
    delivery = stage.broadcast.delivery("discord")
    written, failing = delivery._written, [True]

    def fails_once(*args: object) -> None:
        if failing.pop() if failing else False:
            raise StoreUnavailable("disk I/O error")
        written(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(delivery, "_written", fails_once)
    proposal_id = stage.sends(PROD)
    await until(lambda: not failing, "posted, and not written down")
    stage.server.messages.nonces.clear()  # Discord knows a nonce for some minutes
    await is_found(stage, proposal_id)


async def test_a_card_is_looked_for_although_nothing_could_be_read_of_it_at_the_start(
    stage: DiscordStage, monkeypatch: pytest.MonkeyPatch
) -> None:
    proposal_id, _ = await its_answer_is_lost(stage)
    await stage.ends()
    stage.server.messages.nonces.clear()
    stage.clock.advance(120)
    read, failed = stage.store.read, []

    async def fails_once(unit: Any) -> Any:
        if "Unwritten" in str(unit) and not failed:
            failed.append(unit)
            raise StoreUnavailable("database is locked")
        return await read(unit)

    monkeypatch.setattr(stage.store, "read", fails_once)
    await stage.begins()
    await is_found(stage, proposal_id)
    assert failed


async def test_of_cards_that_may_stand_so_many_are_remembered(
    stage: DiscordStage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bot.chat.discord.unwritten._MOST", 3)
    unwritten = stage.surface._unwritten
    for number in range(5):
        unwritten.add(f"claim{number}")
    assert [f"claim{number}" in unwritten for number in range(5)] == [False] * 2 + [True] * 3


async def test_a_card_whose_post_was_answered_late_is_read_before_an_approval_counts(
    stage: DiscordStage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bot.chat.discord.notifier._SOON_S", 0.0)
    proposal_id, card = await seeded(stage, PROD)
    unheard(card, BEN, CROSS)
    stage.server.reacts(ANA, card, TICK)
    await stage.reaches(proposal_id, "rejected")


async def test_a_stop_that_came_while_nothing_could_be_stored_is_heard_before_an_approval_counts(
    stage: DiscordStage,
) -> None:
    proposal_id, card = await seeded(stage, PROD)
    await stage.quiet()
    store, refused = stage.store, list[object]()

    async def fails(unit: object) -> None:
        refused.append(unit)
        raise StoreUnavailable("disk I/O error")

    read, write = store.read, store.write
    store.read = store.write = fails  # type: ignore[method-assign,assignment]
    stage.server.reacts(BEN, card, CROSS)
    await until(lambda: len(refused) > 1, "worked in vain")
    store.read, store.write = read, write  # type: ignore[method-assign]
    stage.clock.advance(10)
    stage.surface.hearing.alive()
    stage.server.reacts(ANA, card, TICK)
    await stage.reaches(proposal_id, "rejected")
    assert stage.tool(DEPLOY).verbs() == []


async def test_on_a_lively_line_no_card_is_read_before_an_approval_counts(
    stage: DiscordStage,
) -> None:
    proposal_id, card = await seeded(stage, PROD)
    before = len(stage.server.called("GET", READS))
    stage.server.reacts(ANA, card, TICK)
    await stage.reaches(proposal_id, "completed")
    assert len(stage.server.called("GET", READS)) == before


async def test_a_card_that_a_hundred_messages_have_followed_is_found_again_and_not_doubled(
    stage: DiscordStage,
) -> None:
    proposal_id, card = await its_answer_is_lost(stage)
    await stage.ends()
    for number in range(120):
        stage.server.says(CAL, f"talk {number}")
    unheard(card, BEN, CROSS)
    stage.server.messages.nonces.clear()
    stage.clock.advance(200)
    before = len(stage.server.called("GET", POSTS))
    await stage.begins()
    await is_found(stage, proposal_id)
    assert len(stage.server.called("GET", POSTS)) - before <= 3
    await stage.broadcast.catch_up()
    await stage.quiet()
    assert await state_of(stage, proposal_id) == "rejected"


async def test_a_stop_on_a_card_that_nobody_found_again_is_answered_with_the_one_that_counts(
    stage: DiscordStage,
) -> None:
    proposal_id, card = await seeded(stage, PROD)
    orphan = stage.server.says(BOT, "", embeds=card.data["embeds"])
    stage.server.reacts(BEN, orphan, CROSS)
    link = f"https://discord.com/channels/{GUILD}/{CHANNEL}/{card.id}"
    await until(lambda: any(link in said for said in stage.server.said()), "told where it stands")
    await stage.quiet()
    assert await state_of(stage, proposal_id) == "sentinel_approved"
