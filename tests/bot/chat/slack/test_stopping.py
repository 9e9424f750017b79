"""A bot that ends waits for no answer of Slack, and what it could not say it says later."""

from __future__ import annotations

import time

import pytest

from lifecycle.policy import Person
from tests.bot.chat.slack.counted import all_done, counting, state
from tests.builders import PROD
from tests.slack_stage import OnSlack, eventually, on_slack

GRACE_S = 8.0


async def stops(slack: OnSlack) -> float:
    """Stop as the process does; return how long it took."""
    began_s = time.monotonic()
    slack.world.workflow.world.ending = True
    await slack.closes()
    await slack.world.workflow.shut_down(GRACE_S)
    return time.monotonic() - began_s


async def test_an_approval_whose_quorum_cannot_be_counted_holds_up_no_stop_and_opens_nothing() -> (
    None
):
    async with on_slack() as slack:
        card = await slack.proposes(PROD)
        await slack.settles()
        # Who gave it is answered, who is a member is not.
        asked = slack.server.fails("users.info", "hangs", times=None, every=2)
        await slack.server.reacts("UANA", card.ts)
        await eventually(lambda: asked.seen > 1, "membership")
        assert await stops(slack) < 4
        asked.times = 0
        assert slack.world.tool("production-deploy").calls == []
        await slack.restarts()
        await slack.keeps_catching_up()
        await all_done(slack)
        # Its event may be refused as heard only after that reading: the next one counts it then.
        slack.world.clock.advance(181)
        slack.hearing.alive()
        await slack.broadcast.catch_up()
        await all_done(slack)
        assert await counting(slack) == ["ana"]
        assert await state(slack) == "completed"


async def test_nobody_is_a_member_of_whom_slack_does_not_say_so_in_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("bot.chat.slack.notifier._MEMBERSHIP_S", 0.05)
    async with on_slack() as slack:
        slack.server.fails("users.info", "hangs", times=None)
        unread = await slack.surface.membership(["ana", "ben", "nobody"])
        assert unread == {"ana": None, "ben": None}


@pytest.mark.parametrize("silent", [{"every": 2}, {"times": 1}], ids=["second", "first"])
async def test_who_has_left_is_known_to_have_left_although_slack_says_nothing_of_another(
    monkeypatch: pytest.MonkeyPatch, silent: dict[str, int]
) -> None:
    """Nobody was known to have left then, so that an approval of theirs counted all the same; nor
    was anybody who was asked about behind the one of whom Slack said nothing."""
    monkeypatch.setattr("bot.chat.slack.notifier._MEMBERSHIP_S", 2)
    async with on_slack() as slack:
        for user in ("UANA", "UBEN"):
            slack.server.workspace.users[user].deleted = True
        slack.server.fails("users.info", "hangs", **silent)
        said = await slack.surface.membership(["ana", "ben"])
        assert sorted(said.values(), key=str) == [False, None]


async def test_slack_has_a_quarter_of_the_time_to_say_of_each_who_they_are_however_many_are_asked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """In equal parts a slow answer about any of twenty people would come too late."""
    monkeypatch.setattr("bot.chat.slack.notifier._MEMBERSHIP_S", 1.0)
    async with on_slack() as slack:
        people = [Person(f"p{each}", {"slack": f"T1/U{each}"}) for each in range(20)]
        await slack.world.adopts(
            people={**slack.world.workflow.policy.people, **{each.id: each for each in people}}
        )
        slack.server.fails("users.info", "hangs", times=None)
        before = len(slack.server.calls_of("users.info"))

        said = await slack.surface.membership([each.id for each in people])

        assert said == dict.fromkeys((each.id for each in people), None)
        assert len(slack.server.calls_of("users.info")) - before <= 5  # no time for more


@pytest.mark.parametrize("method", ["views.open", "chat.update", "reactions.get"])
async def test_a_call_that_slack_does_not_answer_holds_up_no_stop(method: str) -> None:
    async with on_slack() as slack:
        card = await slack.proposes(PROD)
        await slack.settles()
        slack.server.fails(method, "hangs", times=None)
        await slack.server.presses("UBEN", card, "signoff_reject")
        await slack.server.reacts("UBEN", card.ts, "x")
        await slack.server.reacts("UANA", card.ts)
        await eventually(lambda: slack.server.calls_of(method), "a call")
        assert await stops(slack) < 4
