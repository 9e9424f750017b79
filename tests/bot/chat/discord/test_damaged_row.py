"""A row that was changed by hand keeps its own card from being heard, and no other one."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path

import pytest

from bot.storage.sqlite import SqliteStore
from tests.bot.chat.discord.cards import read_again, seeded
from tests.bot.chat.discord.standing import (
    approved_once,
    counting,
    counts_alone,
    state_of,
    taken_off_unheard,
    unheard,
)
from tests.builders import PROD
from tests.by_hand import by_hand
from tests.fakes.discord_server import DiscordServer
from tests.fakes.discord_stage import ANA, BEN, CROSS, TICK, DiscordStage, a_stage, until
from tests.roomy import a_roomy_policy


@pytest.fixture
async def kept(server: DiscordServer, tmp_path: Path) -> AsyncIterator[DiscordStage]:
    """A bot with a database on disk."""
    store = await SqliteStore.open(tmp_path / "signoff.db")
    stage = a_stage(store, server, a_roomy_policy())
    await stage.begins()
    yield stage
    await stage.ends()
    await store.close()


async def three_cards(stage: DiscordStage) -> list[str]:
    return [
        (await seeded(stage, PROD, parameters={"version": f"v{n}"}, approval_class="dual"))[0]
        for n in range(3)
    ]


async def test_what_was_decided_in_an_absence_is_found_behind_a_damaged_row(
    kept: DiscordStage, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    stage = kept
    damaged, stopped, approved = await three_cards(stage)
    cards = [await stage.card(each) for each in (stopped, approved)]
    await stage.ends()
    with closing(sqlite3.connect(tmp_path / "signoff.db")) as other:
        other.execute("UPDATE proposals SET rest = 'x' WHERE proposal_id = ?", (damaged,))
        other.commit()
    unheard(cards[0], BEN, CROSS)
    unheard(cards[1], ANA, TICK)
    stage.clock.advance(1)
    await stage.begins(connected=False)
    await until(lambda: stage.surface.hearing.connected, "connected")
    await stage.reaches(stopped, "rejected")
    await until(lambda: not stage.surface.hearing.gap, "no gap stays open for it")
    assert await counting(stage, approved) == ["ana"]

    for _ in range(2):
        stage.clock.advance(181)
        stage.surface.hearing.alive()
        await stage.broadcast.catch_up()
    said = [each for each in caplog.messages if "is not heard" in each and damaged in each]
    assert len(said) == 1, "said once"
    row = await stage.store.read(lambda tx: tx.cards.get(damaged, "discord"))
    assert row is not None
    assert not await stage.surface.read_card(row), "its own window would not close"


async def test_a_mistake_of_ours_with_one_card_keeps_no_other_from_being_read(
    stage: DiscordStage, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, _ = await seeded(stage, PROD)
    second, card = await seeded(stage, PROD, parameters={"version": "v2"})
    reading = stage.surface.listening.reading  # type: ignore[union-attr]
    read = reading._read_one

    async def mistaken(card: object) -> int:
        if card.proposal_id == first:  # type: ignore[attr-defined]
            raise ValueError("a mistake of ours")
        return await read(card)  # type: ignore[arg-type]

    monkeypatch.setattr(reading, "_read_one", mistaken)
    unheard(card, BEN, CROSS)
    await read_again(stage)
    assert await state_of(stage, second) == "rejected"


async def test_what_cannot_be_written_of_one_card_keeps_no_other_from_being_heard(
    kept: DiscordStage, tmp_path: Path
) -> None:
    """Whatever stood on all others was heard no more, and no gap ever closed."""
    stage, database = kept, tmp_path / "signoff.db"
    refused, stopped, _ = await three_cards(stage)
    cards = [await stage.card(each) for each in (refused, stopped)]
    stage.server.reacts(ANA, cards[0], TICK)
    await until(lambda: stage.reviews(refused), "counted")
    await stage.quiet()
    condition = f"new.proposal_id = '{refused}'"
    refuses = "BEGIN SELECT RAISE(ABORT, 'not this one'); END"
    by_hand(database, f"CREATE TRIGGER x BEFORE INSERT ON audit WHEN {condition} {refuses}")
    taken_off_unheard(cards[0], ANA, TICK)
    unheard(cards[1], BEN, CROSS)
    stage.clock.advance(1)
    stage.surface.hearing.began()
    await stage.broadcast.catch_up()
    assert await state_of(stage, stopped) == "rejected"
    assert not stage.surface.hearing.gap, "no gap stays open for it"

    by_hand(database, "DROP TRIGGER x")
    await read_again(stage)
    assert await counting(stage, refused) == []


async def test_a_check_mark_that_is_taken_off_while_its_row_is_damaged_counts_no_more(
    kept: DiscordStage, tmp_path: Path
) -> None:
    """Once the row was mended it counted, and opened a deployment with ben's."""
    stage, database = kept, tmp_path / "signoff.db"
    proposal_id, card = await approved_once(stage)
    ((rest,),) = by_hand(database, "SELECT quote(rest) FROM proposals")
    by_hand(database, "UPDATE proposals SET rest = 'x'")
    stage.server.unreacts(ANA, card, TICK)
    await until(stage._all_heard, "heard")
    await until(lambda: stage.workflow.world.heard.of(proposal_id), "it waits")
    by_hand(database, f"UPDATE proposals SET rest = {rest}")
    stage.server.reacts(BEN, card, TICK)
    await counts_alone(stage, proposal_id, "ben")


async def test_a_card_that_cannot_be_noted_keeps_no_other_from_being_shown(
    kept: DiscordStage, tmp_path: Path
) -> None:
    """The whole surface waited for it, ever longer, and posted it anew at each attempt."""
    stage, database = kept, tmp_path / "signoff.db"
    condition = "new.proposal_id = 'p1' AND new.kind = 'card_posted'"
    refuses = "BEGIN SELECT RAISE(ABORT, 'not p1'); END"
    by_hand(database, f"CREATE TRIGGER x BEFORE INSERT ON audit WHEN {condition} {refuses}")

    refused = stage.sends(PROD, parameters={"version": "v1"})
    await until(stage.server.cards, "posted")
    shown = stage.sends(PROD, parameters={"version": "v2"})
    await stage.card(shown)
    await stage.quiet()
    for _ in range(40):
        stage.clock.advance(3)
        await stage.broadcast.delivery("discord").drain()
    (told,) = [each for each in stage.workflow.world.troubles.failing.words() if refused in each]
    by_hand(database, "DROP TRIGGER x")
    stage.clock.advance(61)
    await stage.broadcast.delivery("discord").drain()

    assert told.startswith(f"Showing the card about {refused} on discord failed")
    assert "not p1" in told
    assert (await stage.card(refused)).data["embeds"]
    assert stage.workflow.world.troubles.failing.words() == ()
    # Of the cards: the board names it as well, as soon as its turn has come.
    about = [each for each in stage.server.cards() if refused in json.dumps(each.data["embeds"])]
    assert len(about) == 1


@pytest.mark.parametrize("mended", [True, False])
async def test_no_reason_waits_behind_that_of_a_stop_which_nobody_can_carry_out(
    kept: DiscordStage, tmp_path: Path, mended: bool
) -> None:
    """The agents of all else that ana rejected were told no reason, until the row was mended."""
    stage, database = kept, tmp_path / "signoff.db"
    refused, rejected, _ = await three_cards(stage)
    cards = [await stage.card(each) for each in (refused, rejected)]
    await stage.quiet()
    condition = f"new.proposal_id = '{refused}'"
    refuses = "BEGIN SELECT RAISE(ABORT, 'not this one'); END"
    by_hand(database, f"CREATE TRIGGER x BEFORE INSERT ON audit WHEN {condition} {refuses}")
    stage.server.reacts(ANA, cards[0], CROSS)
    await until(lambda: stage.workflow.world.spool.kept(), "it is kept")
    stage.server.says(ANA, "the first reason", reply_to=cards[0].id)
    stage.server.reacts(ANA, cards[1], CROSS)
    await stage.reaches(rejected, "rejected")
    stage.server.says(ANA, "the second reason", reply_to=cards[1].id)
    await until(lambda: _explained(stage, rejected, "the second reason"), "explained")
    if mended:
        by_hand(database, "DROP TRIGGER x")
        await until(lambda: _explained(stage, refused, "the first reason"), "explained too")


async def _explained(stage: DiscordStage, proposal_id: str, words: str) -> bool:
    stage.clock.advance(1)
    await stage.workflow.recover()
    return (await stage.proposal(proposal_id)).explanation == words
