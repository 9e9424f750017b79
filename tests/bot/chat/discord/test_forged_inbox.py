"""Somebody writes into what the inbox keeps while the bot is down: nobody said that."""

from __future__ import annotations

import json
from typing import Any

import pytest

from lifecycle.heard import kept_stops
from lifecycle.ports import Transaction
from tests.bot.chat.discord.cards import seeded
from tests.bot.chat.discord.standing import DEPLOY, state_of
from tests.builders import PROD
from tests.fakes.discord_server.state import CHANNEL
from tests.fakes.discord_stage import ANA, BEN, DiscordStage, until

FLAG = "inbox:discord"
NOT_OURS = "is not what the bot kept"


async def kept_by_the_last_process(stage: DiscordStage, text: str, account: int = ANA) -> None:
    """Let somebody type, and the process end before that is worked."""
    stage.workflow.world.ending = True
    stage.server.says(account, text)
    await until(lambda: stage.store.read(lambda tx: tx.flags.get(FLAG)), "kept")
    await stage.ends()


async def changed(stage: DiscordStage, old: str, new: str) -> None:
    """Change it where it is kept, as somebody with the sqlite3 program would."""

    def unit(tx: Transaction) -> None:
        kept: dict[str, Any] = tx.flags.get(FLAG)
        names = [FLAG, *(f"{FLAG}#{each['place']}" for each in kept.values())]
        texts = {name: json.dumps(tx.flags.get(name)) for name in names}
        assert any(old in text for text in texts.values())
        for name, text in texts.items():
            tx.flags.put(name, json.loads(text.replace(old, new)))

    await stage.store.write(unit)


async def told(stage: DiscordStage) -> None:
    await until(lambda: stage.audit("ignored", "digest_mismatch"), "told", 5)
    stage.clock.advance(2)
    stage.broadcast.nudge()
    messages = stage.server.state.messages[CHANNEL].values()
    await until(lambda: any(NOT_OURS in json.dumps(each.data) for each in messages), "posted", 5)


async def test_an_approval_that_nobody_gave_is_not_worked_after_the_start(
    stage: DiscordStage,
) -> None:
    """It counted as ana's, and was in the trail as hers."""
    proposal_id, _ = await seeded(stage, PROD)
    await kept_by_the_last_process(stage, f"!explain {proposal_id}")
    await changed(stage, "explain p1", "approve p1")

    await stage.begins()
    await told(stage)
    await stage.quiet()

    assert await state_of(stage, proposal_id) == "sentinel_approved"
    assert stage.tool(DEPLOY).verbs() == []
    (noted,) = await stage.audit("ignored", "digest_mismatch")
    assert noted["surface"] == "discord"
    assert await stage.store.read(lambda tx: tx.flags.get(FLAG)) == {}


@pytest.mark.parametrize("what", ["who", "seal", "id"])
async def test_nor_one_that_was_given_to_another_name(stage: DiscordStage, what: str) -> None:
    proposal_id, _ = await seeded(stage, PROD)
    await kept_by_the_last_process(stage, f"!approve {proposal_id}", BEN)
    old, new = {"who": (str(BEN), str(ANA)), "seal": ('"seal"', '"sale"'), "id": ("inbox", "x")}[
        what
    ]
    if what == "id":
        kept = await stage.store.read(lambda tx: tx.flags.get(FLAG))
        (old,) = kept
        new = f"{old}9"
    await changed(stage, old, new)

    await stage.begins()
    await told(stage)
    await stage.quiet()

    assert stage.tool(DEPLOY).verbs() == []


async def test_a_stop_that_was_changed_is_not_worked_and_holds_until_a_person_lets_go(
    stage: DiscordStage,
) -> None:
    """It may have been a ❌: nothing begins over it."""
    proposal_id, _ = await seeded(stage, PROD)
    await kept_by_the_last_process(stage, f"!reject {proposal_id} too risky", BEN)
    await changed(stage, "too risky", "too cheap")

    await stage.begins()
    await told(stage)
    stage.server.says(ANA, f"!approve {proposal_id}")
    await stage.quiet()

    assert await state_of(stage, proposal_id) == "sentinel_approved"
    assert stage.tool(DEPLOY).verbs() == []
    assert [each.proposal_id for each in await stage.store.read(kept_stops)] == [proposal_id]
    stage.clock.advance(61)
    stage.server.says(ANA, f"!retry {proposal_id}")
    await until(lambda: stage.audit("stop_let_go"), "let go of")
    await stage.passes(seconds=10)
    assert await state_of(stage, proposal_id) == "completed"
