"""An answer that tells an agent of an end, and cannot be posted, is not the end's last word."""

from __future__ import annotations

import pytest

from tests.builders import MAIL
from tests.fakes.discord_stage import DiscordStage, until

SEARCH = {"tool": "search", "action_type": "read", "parameters": {"query": "refunds"}}


async def ended(stage: DiscordStage, status: int = 503) -> str:
    """Let leila search while Discord takes no message; return the id once that has ended."""
    stage.server.fails("POST", "/messages$", status=status, code=50013, times=None)
    proposal_id = stage.sends(MAIL, **SEARCH)

    async def over() -> bool:
        found = await stage.store.read(lambda tx: tx.proposals.get(proposal_id))
        return found is not None and found.terminal

    await until(over, "it has ended")
    await kept(stage, proposal_id)
    return proposal_id


async def kept(stage: DiscordStage, proposal_id: str) -> None:
    """Wait until the end is kept for whoever was not answered."""

    async def waits() -> bool:
        waiting = await stage.store.read(lambda tx: tx.outbox.waiting("discord", 2**60, 99))
        return f"end:{proposal_id}:unanswered" in [message.key for message in waiting]

    await until(waits, "the end is kept")


async def told(stage: DiscordStage, proposal_id: str, every_s: int) -> list[str]:
    """Let time pass until the agent is told, and ten minutes more; return the states told."""

    def answers() -> list[str]:
        return [each["state"] for each in stage.answers() if each["proposal_id"] == proposal_id]

    async def there() -> list[str]:
        await stage.passes(seconds=every_s)
        return answers()

    await until(there, "it is told")
    for _ in range(10):
        await stage.passes(minutes=1)
    await stage.quiet()
    return answers()


async def test_an_agent_is_told_of_an_end_once_its_platform_is_back_after_a_while(
    stage: DiscordStage, caplog: pytest.LogCaptureFixture
) -> None:
    """After two minutes it was never told: the answer counted as given before it was posted."""
    proposal_id = await ended(stage)

    async def given_up() -> bool:
        await stage.passes(seconds=5)
        return "an answer is not posted" in caplog.text

    await until(given_up, "the answer is given up")
    stage.server.faults.clear()

    assert await told(stage, proposal_id, 5) == ["completed"]


async def test_an_agent_is_told_of_an_end_once_if_its_answer_is_posted_late(
    stage: DiscordStage,
) -> None:
    proposal_id = await ended(stage)
    stage.server.faults.clear()

    assert await told(stage, proposal_id, 5) == ["completed"]


async def test_an_agent_is_told_of_an_end_if_the_bot_ends_before_its_answer_is_posted(
    stage: DiscordStage,
) -> None:
    proposal_id = await ended(stage)
    await stage.ends()
    stage.server.faults.clear()
    await stage.restarts()

    assert await told(stage, proposal_id, 30) == ["completed"]


async def test_an_agent_is_told_of_an_end_once_the_bot_may_speak_again(
    stage: DiscordStage,
) -> None:
    proposal_id = await ended(stage, 403)
    stage.server.faults.clear()

    assert await told(stage, proposal_id, 5) == ["completed"]
