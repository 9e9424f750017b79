"""A copy is brought back in whose inbox something waited: it may have been worked after that."""

from __future__ import annotations

import json

import pytest

from lifecycle.clockwork.restored import bring_back
from tests.bot.chat.discord.cards import seeded
from tests.bot.chat.discord.standing import DEPLOY, state_of
from tests.bot.chat.discord.test_forged_inbox import FLAG, kept_by_the_last_process
from tests.builders import MAIL, PROD, a_document
from tests.fakes.discord_server.state import CHANNEL
from tests.fakes.discord_stage import ANA, BEN, LEILA, DiscordStage, until

OF_A_COPY = "waited in the copy that was brought back"


async def brought_back(stage: DiscordStage) -> None:
    """Let the database of the last process come back as a copy, and a bot begin with it."""
    moment = stage.workflow.world.moment()
    await stage.store.write(lambda tx: bring_back(tx, moment, "copy.db"))
    await stage.begins()


async def thawed(stage: DiscordStage) -> None:
    stage.server.says(ANA, "!thaw")
    await until(lambda: stage.audit("thawed"), "thawed")
    await stage.passes(seconds=10)


async def test_an_approval_that_waited_in_it_counts_no_more(stage: DiscordStage) -> None:
    """It was executed once more, by an approval of before the copy was made."""
    proposal_id, _ = await seeded(stage, PROD)
    await kept_by_the_last_process(stage, f"!approve {proposal_id}")

    await brought_back(stage)
    await until(lambda: stage.audit("ignored", "stale_card"), "told", 5)
    await thawed(stage)

    assert await state_of(stage, proposal_id) == "sentinel_approved"
    assert stage.tool(DEPLOY).verbs() == []
    messages = stage.server.state.messages[CHANNEL]
    stage.broadcast.nudge()
    await until(lambda: any(OF_A_COPY in json.dumps(m.data) for m in messages.values()), "posted")
    assert await stage.store.read(lambda tx: tx.flags.get(FLAG)) == {}


@pytest.mark.parametrize("again", [False, True])
async def test_a_document_that_waited_in_it_is_nothing_until_it_is_sent_anew(
    stage: DiscordStage, again: bool
) -> None:
    """Its tool needs nobody's word, and was called once more by itself."""
    named = {"proposal_id": "p9", "actor": "leila", "action_type": "read", "tool": "search"}
    document = a_document(MAIL, ts_ms=stage.clock.now_ms(), **named)
    text = f"!propose ```json\n{json.dumps(document)}\n```"
    await kept_by_the_last_process(stage, text, LEILA)

    await brought_back(stage)
    await until(lambda: stage.audit("ignored", "stale_card"), "told", 5)
    await thawed(stage)
    if again:
        stage.server.says(LEILA, text)
        await until(lambda: stage.tool("search").verbs(), "called")

    assert stage.tool("search").verbs() == ["execute"] * again


async def test_a_stop_that_waited_in_it_is_carried_out(stage: DiscordStage) -> None:
    proposal_id, _ = await seeded(stage, PROD)
    await kept_by_the_last_process(stage, f"!reject {proposal_id} too risky", BEN)

    await brought_back(stage)
    await stage.reaches(proposal_id, "rejected")

    assert await stage.audit("ignored", "stale_card") == []


async def test_what_is_heard_after_it_is_worked_after_any_later_start(stage: DiscordStage) -> None:
    proposal_id, _ = await seeded(stage, PROD)
    await stage.ends()
    await brought_back(stage)
    await thawed(stage)
    await kept_by_the_last_process(stage, f"!approve {proposal_id}")

    await stage.begins()

    async def carried_out() -> bool:
        stage.clock.advance(0.5)  # what came before the connection stood is tried again
        return await state_of(stage, proposal_id) == "completed"

    await until(carried_out)

    assert stage.tool(DEPLOY).verbs() == ["execute"]
