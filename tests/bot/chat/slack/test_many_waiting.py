"""After an absence in which much came to wait, what may stand already is looked for sparingly."""

from __future__ import annotations

from lifecycle.ports import Transaction
from lifecycle.records import Message as Kept
from tests.builders import PROD
from tests.fakes.slack_server.workspace import Message
from tests.slack_stage import OnSlack, eventually, eventually_async, on_slack

WAITING = 60
#: A channel in which people talk: several pages of it.
TALK = 900


def people_talk(slack: OnSlack) -> None:
    workspace = slack.server.workspace
    for _ in range(TALK):
        workspace.messages.append(Message("C0OPS", workspace.new_ts(), "UANA", "talk", team="T1"))


async def much_waits(slack: OnSlack) -> None:
    """Let words to the channel wait that a former process may have said."""
    now_ms = slack.world.clock.now_ms()

    def unit(tx: Transaction) -> None:
        for number in range(WAITING):
            body = {"text": f"hello {number}."}
            tx.outbox.add(Kept(f"m{number}", "slack", "", "announcement", body, now_ms))

    await slack.world.store.write(unit)


async def test_the_channel_is_looked_through_once_for_all_that_waits_at_the_start() -> None:
    async with on_slack() as slack:
        await slack.settles()
        await slack.closes()
        people_talk(slack)
        await much_waits(slack)
        before = len(slack.server.calls_of("conversations.history"))
        await slack.restarts()
        await slack.keeps_delivering(lambda: len(slack.said("hello ")) == WAITING)
        looks = len(slack.server.calls_of("conversations.history")) - before
        # Some four pages, and as many again for a board that was left half placed.
        assert 0 < looks < WAITING // 2


async def test_of_much_that_waits_only_that_is_said_which_does_not_stand_yet() -> None:
    async with on_slack() as slack:
        await slack.beats(5)
        fault = slack.server.fails("chat.postMessage", "lost_answer", holding="hello 7.")
        await much_waits(slack)
        slack.broadcast.nudge()
        await eventually(lambda: fault.times == 0, "said, its answer lost")
        await slack.restarts()

        async def all_said() -> bool:
            slack.world.clock.advance(1)
            slack.broadcast.nudge()
            far_ms = slack.world.clock.now_ms() + 10**12
            return not await slack.world.store.read(
                lambda tx: tx.outbox.waiting("slack", far_ms, 1)
            )

        await eventually_async(all_said, "delivered")
        assert len(slack.said("hello ")) == WAITING


async def test_however_much_is_in_doubt_none_of_it_is_posted_again() -> None:
    async with on_slack() as slack:
        await slack.settles()
        assert slack.surface.desk is not None
        stands = await slack.surface.desk.rest.post("said:mine", "my word")
        await slack.restarts()
        rest = slack.surface.desk.rest
        rest.doubt(["said:mine", *(f"said:{number}" for number in range(6_000))])
        await rest.post("said:another", "another word")
        assert await rest.post("said:mine", "my word") == stands


async def test_what_was_found_and_is_deleted_meanwhile_is_posted_anew() -> None:
    async with on_slack() as slack:
        await slack.beats(5)
        fault = slack.server.fails("chat.postMessage", "lost_answer", holding="PROPOSAL from agent")
        document = slack.document(PROD, proposal_id="p1")
        await slack.server.proposes("ULEILA", document)
        await eventually(lambda: fault.times == 0, "posted, its answer lost")
        await slack.closes()
        edits = slack.server.fails("chat.update", "status", times=None)
        await slack.restarts()
        await slack.keeps_delivering(lambda: edits.seen)
        slack.server.workspace.messages.remove(slack.cards("p1")[0])
        slack.server.faults.clear()
        await slack.keeps_delivering(lambda: slack.seeded("p1"))
        assert len(slack.cards("p1")) == 1
