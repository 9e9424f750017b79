"""What the bot said in the channel beside another database, under a key that comes again."""

from __future__ import annotations

from bot.storage.memory import MemoryStore
from lifecycle.records import Message
from tests.slack_stage import OnSlack, eventually, on_slack


async def is_to_say(slack: OnSlack, words: str) -> None:
    """Let it be announced of p1 that it needs a person."""
    said = Message(
        key="attention:p1:outcome_unknown:4@slack",
        surface="slack",
        recipient="",
        kind="announcement",
        body={"text": words},
        created_at_ms=slack.world.clock.now_ms(),
    )
    await slack.world.workflow.world.store.write(lambda tx: tx.outbox.add(said))


def said(slack: OnSlack) -> list[str]:
    return [m.text for m in slack.server.workspace.messages if "needs a person" in m.text]


async def test_what_waits_to_be_said_is_not_taken_for_what_another_database_had_said() -> None:
    """A former process may have said it: it is looked for before it is said."""
    async with on_slack() as slack:
        await is_to_say(slack, "p1 needs a person: the first one")
        slack.broadcast.nudge()
        await eventually(lambda: said(slack), "said")
        await slack.closes()

        slack.world.workflow.world.store = MemoryStore()
        slack.world.clock.advance(60)
        await is_to_say(slack, "p1 needs a person: the second one")
        await slack.restarts()
        await slack.keeps_delivering(lambda: len(said(slack)) == 2)

        assert ["second" in each for each in said(slack)] == [False, True]
