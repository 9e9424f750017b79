"""What was typed on Discord while nothing could be stored is answered, or kept until it can be:
Discord says it once, and no card shows it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from lifecycle.answers import Sender
from lifecycle.ports import StoreUnavailable
from lifecycle.proposal import ActorKind
from lifecycle.questions import question_of
from tests.bot.chat.discord.cards import seeded
from tests.bot.chat.discord.standing import DEPLOY, counting
from tests.builders import MAIL, PROD
from tests.fakes.discord_server.state import CHANNEL, Message
from tests.fakes.discord_stage import ANA, BEN, CROSS, LEILA, DiscordStage, until
from tests.stories.test_plans import HINTS, an_envelope

WORDS = "wrong amount"
PLAN = {"proposalKind": "refinementPlan", "candidateRefs": HINTS}


class Disk:
    """The store of a stage, as long as a test wants it to fail; `refused` counts in vain."""

    def __init__(self, stage: DiscordStage, monkeypatch: pytest.MonkeyPatch, *failing: str) -> None:
        self.fails, self.refused = True, 0
        for name in failing:
            monkeypatch.setattr(stage.store, name, self._over(getattr(stage.store, name)))

    def _over(self, real: Any) -> Any:
        async def asked(unit: Any) -> Any:
            if self.fails:
                self.refused += 1
                raise StoreUnavailable("disk I/O error")
            return await real(unit)

        return asked


async def house_is_kept(stage: DiscordStage) -> bool:
    """Let a second pass in which the jobs work; True, for whoever waits for something else."""
    stage.clock.advance(1)
    stage.surface.hearing.alive()
    await stage.workflow.recover()
    return True


@pytest.mark.parametrize("command", ["approve", "retry"])
async def test_who_types_a_command_that_can_be_neither_stored_nor_worked_is_told(
    stage: DiscordStage, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    proposal_id, _ = await seeded(stage, PROD)
    disk = Disk(stage, monkeypatch, "read", "write")
    stage.server.says(ANA, f"!{command} {proposal_id}")
    await until(lambda: "nothing was done" in "".join(stage.server.said()), "told", seconds=10)
    disk.fails = False
    assert await counting(stage, proposal_id) == []
    assert stage.tool(DEPLOY).verbs() == []


async def test_a_bot_that_nobody_knows_is_told_nothing_then(
    stage: DiscordStage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two bots must not answer each other for ever."""
    proposal_id, _ = await seeded(stage, PROD)
    said = list(stage.server.said())
    disk = Disk(stage, monkeypatch, "read", "write")
    stage.server.webhook_says("77", "a bot", f"!approve {proposal_id}")
    await until(lambda: disk.refused > 1, "worked in vain")
    stage.server.says(ANA, f"!approve {proposal_id}")
    await until(lambda: stage.server.said() != said, "ana is told", seconds=10)
    disk.fails = False
    assert len(stage.server.said()) == len(said) + 1


async def _explained(stage: DiscordStage, proposal_id: str) -> bool:
    await house_is_kept(stage)
    found = await stage.proposal(proposal_id)
    return (found.state.value, found.explanation) == ("rejected", WORDS)


@pytest.mark.parametrize("failing", [("write",), ("read", "write")], ids=["unwritten", "unread"])
async def test_words_behind_a_cross_are_kept_with_it(
    stage: DiscordStage, monkeypatch: pytest.MonkeyPatch, failing: tuple[str, ...]
) -> None:
    """They were lost without a word, and the agent was told that it was rejected, not why."""
    proposal_id, card = await seeded(stage, MAIL)
    disk = Disk(stage, monkeypatch, *failing)
    stage.server.reacts(ANA, card, CROSS)
    await until(lambda: disk.refused, "given")
    stage.server.says(ANA, WORDS, reply_to=card.id)
    stage.server.says(BEN, "what is this about?", reply_to=card.id)
    await until(stage._all_heard, "heard")
    before = disk.refused
    await until(lambda: _refused_again(stage, disk, before), "tried again")
    disk.fails = False
    await until(lambda: _explained(stage, proposal_id), "her words are taken up")
    await until(lambda: "Your reason is passed on." in "".join(stage.server.said()), "told")


async def _refused_again(stage: DiscordStage, disk: Disk, before: int) -> bool:
    stage.clock.advance(1)
    return disk.refused > before + 1


async def test_the_answer_to_a_question_is_kept_until_it_can_be_read_which_one_it_answers(
    stage: DiscordStage, monkeypatch: pytest.MonkeyPatch
) -> None:
    envelope = an_envelope(stage, [], PLAN, intent="May I refund order 17?")  # type: ignore[arg-type]
    stage.server.says(LEILA, f"!propose ```json\n{json.dumps(envelope)}\n```")
    asked = await until(lambda: _asked(stage), "the question")
    await stage.quiet()
    question_id = next(a["result"]["question_id"] for a in stage.answers())
    disk = Disk(stage, monkeypatch, "read", "write")
    stage.server.says(ANA, "Yes, go on.", reply_to=asked.id)
    await until(lambda: _refused_again(stage, disk, 2), "tried again")
    disk.fails = False

    async def answered() -> bool:
        await house_is_kept(stage)
        found = await stage.store.read(lambda tx: question_of(tx, question_id))
        return found is not None and found["answer"] == "Yes, go on."

    await until(answered, "answered")


def _asked(stage: DiscordStage) -> Message | None:
    said = stage.server.state.messages[CHANNEL].values()
    return next((each for each in said if "QUESTION" in str(each.data["content"])), None)


async def test_a_cross_that_could_not_even_be_looked_up_is_carried_out_once_it_can_be(
    stage: DiscordStage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was left to the reading of its card: where Discord could not be read either, an approval
    on another surface waited ten seconds and began over a ❌ that the bot had been told of."""
    proposal_id, card = await seeded(stage, PROD)
    disk = Disk(stage, monkeypatch, "read", "write")
    stage.server.reacts(BEN, card, CROSS)
    await until(lambda: disk.refused > 1, "given")
    stage.server.fails("GET", f"/messages/{card.id}", status=500, times=None)
    disk.fails = False
    ana = Sender("terminal", ActorKind.PERSON, "ana", "ana")
    await stage.workflow.approve(proposal_id, ana)

    async def ended() -> bool:
        await house_is_kept(stage)
        await stage.workflow.open_ready()
        return (await stage.proposal(proposal_id)).terminal

    await until(ended, "ended")
    assert stage.tool(DEPLOY).verbs() == []
    assert (await stage.proposal(proposal_id)).reason == "rejected_by_person"
