"""Case K09 on the platforms: the words behind a ❌ count, however slowly that is worked."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from tests.builders import MAIL
from tests.fakes.discord_server.state import Message
from tests.fakes.discord_stage import ANA, BEN, CROSS, DiscordStage, until
from tests.slack_stage import eventually, on_slack

WORDS = "wrong amount"


async def explained(stage: DiscordStage, proposal_id: str) -> Callable[[], Awaitable[bool]]:
    """Return what says whether the words were taken up; a clock that is asked goes on."""

    async def look() -> bool:
        stage.clock.advance(1)
        found = await stage.store.read(lambda tx: tx.proposals.get(proposal_id))
        return found is not None and found.explanation == WORDS

    return look


async def test_K09_words_on_discord_wait_for_the_cross_that_they_explain(
    discord_stage: DiscordStage,
) -> None:
    stage, slow = discord_stage, asyncio.Event()
    proposal_id = await stage.proposes(MAIL, task_id="t1")
    card = await stage.card(proposal_id)
    fault = stage.server.fails("GET", "/members/1001", gate=slow)

    stage.server.reacts(ANA, card, CROSS)
    await until(lambda: fault.times == 0, "ana is being looked up")
    stage.server.says(ANA, WORDS, reply_to=card.id)
    stage.server.says(BEN, "what is this about?", reply_to=card.id)
    await asyncio.sleep(0.1)
    slow.set()

    await until(await explained(stage, proposal_id), "her words are taken up")
    task = await stage.store.read(lambda tx: tx.backlog.get("leila", "t1"))
    assert task is not None
    assert (task.state, task.explanation) == ("backlog", WORDS)


async def test_K09_words_under_a_card_that_no_row_knows_yet_count_on_discord(
    discord_stage: DiscordStage,
) -> None:
    stage = discord_stage
    stage.server.messages.after_answer_s = 0.3

    def stop(message: Message) -> None:
        embeds = message.data["embeds"]
        if embeds and "PROPOSAL" in str(embeds[0].get("title")):
            stage.server.reacts(ANA, message, CROSS)
            stage.server.says(ANA, WORDS, reply_to=message.id)

    stage.server.messages.before_answer = stop
    proposal_id = stage.sends(MAIL)

    await until(await explained(stage, proposal_id), "her words are taken up")


@pytest.mark.parametrize("others", [False, True], ids=["alone", "beside somebody's talk"])
async def test_K09_words_on_slack_wait_for_the_cross_that_they_explain(others: bool) -> None:
    async with on_slack() as slack:
        card = await slack.proposes(MAIL, task_id="t1")
        slack.server.hold("users.info")
        await slack.server.reacts("UANA", card.ts, "x")
        await eventually(lambda: slack.server.waiting("users.info"), "ana is being looked up")
        if others:
            await slack.server.says("UBEN", "what is this about?", thread_ts=card.ts)
        await slack.server.says("UANA", WORDS, thread_ts=card.ts)
        await slack.beats(5)
        slack.server.release("users.info")
        await slack.stands("p1", "rejected")
        await slack.settles()
        assert (await slack.world.proposal("p1")).explanation == WORDS
        task = await slack.world.store.read(lambda tx: tx.backlog.get("leila", "t1"))
        assert task is not None
        assert (task.state, task.explanation) == ("backlog", WORDS)
