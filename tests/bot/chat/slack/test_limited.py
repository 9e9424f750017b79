"""Slack's limit on connections is waited for as Slack says: asking sooner makes it longer."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from bot.chat.surface import SurfaceFailed
from tests.slack_stage import OnSlack, eventually, eventually_async, on_slack

OPEN = "apps.connections.open"


def a_mail(number: int) -> dict[str, Any]:
    """Return what makes one proposal another one than all others."""
    what = {"to": "pat@partner.example", "subject": f"Invoice {number}", "body": "Hello"}
    return {"proposal_id": f"p{number}", "parameters": what}


async def a_while(slack: OnSlack, seconds: float) -> None:
    """Let time pass, and do what the jobs do."""
    slack.world.clock.advance(seconds)
    await slack.broadcast.catch_up()
    await slack.world.workflow.open_ready()
    await slack.world.workflow.close_due()
    slack.broadcast.nudge()
    await slack.beats(1)


async def test_a_limit_on_new_connections_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    async with on_slack(opened=False) as slack:
        slept: list[float] = []
        sleep = slack.world.clock.sleep

        async def noted(seconds: float) -> None:
            slept.append(seconds)
            await sleep(seconds)

        monkeypatch.setattr(slack.world.clock, "sleep", noted)
        slack.server.fails(OPEN, "ratelimited", retry_after_s=47)
        await slack.opens()
        assert len(slack.server.calls_of(OPEN)) == 2
        assert 47 in slept


async def test_an_address_that_was_used_is_not_used_again() -> None:
    """The ticket in it opens one socket."""
    async with on_slack() as slack:
        for _ in range(3):
            opened = slack.server.sockets.opened
            await slack.server.sockets.disconnect("too_many_websockets")
            await eventually(lambda before=opened: slack.server.sockets.opened > before)
        assert slack.hearing.connected


@pytest.mark.parametrize(
    ("said", "waits_s"), [("0", 1), ("²", 1), ("9" * 400, 3_600), ("9" * 5_000, 3_600)]
)
async def test_a_limit_is_waited_for_however_its_end_is_written(said: Any, waits_s: int) -> None:
    async with on_slack() as slack:
        web = slack.surface.desk.web  # type: ignore[union-attr]
        slack.server.fails("users.info", "ratelimited", retry_after_s=said, times=None)
        before = len(slack.server.calls_of("users.info"))
        asked = asyncio.create_task(web.call("users.info", user="UANA"))
        await eventually(lambda: len(slack.server.calls_of("users.info")) > before, "asked once")
        while not asked.done():
            slack.world.clock.advance(waits_s)
            await slack.beats(1)
        with pytest.raises(SurfaceFailed) as caught:
            asked.result()
        assert caught.value.retry_after_s == waits_s


async def test_a_clock_that_is_set_back_makes_no_limit_longer() -> None:
    async with on_slack() as slack:
        web = slack.surface.desk.web  # type: ignore[union-attr]
        slack.server.fails("users.info", "ratelimited", retry_after_s=90)
        with pytest.raises(SurfaceFailed):
            await web.call("users.info", user="UANA")
        slack.world.clock._now_ms -= 1_800_000
        assert (await web.call("users.info", user="UANA"))["ok"]


async def all_begun(slack: OnSlack) -> bool:
    await a_while(slack, 1)
    found = [await slack.world.proposal(f"p{number}") for number in (1, 2, 3)]
    return {proposal.state.value for proposal in found} == {"executing"}


@pytest.mark.parametrize("method", ["chat.postMessage", "reactions.get", "users.info"])
async def test_during_a_long_limit_nothing_is_asked_that_slack_would_refuse(method: str) -> None:
    """Asking all the same makes the limit longer, and nothing that waits comes sooner by it."""
    async with on_slack() as slack:
        cards = [await slack.proposes(**a_mail(number)) for number in (1, 2, 3)]
        await slack.settles()
        limit = slack.server.fails(method, "ratelimited", retry_after_s=500, times=None)
        before = len(slack.server.calls_of(method))
        for number, card in enumerate(cards, 4):
            await slack.server.proposes("ULEILA", slack.document(**a_mail(number)))
            await slack.server.reacts("UANA", card.ts)
        web = slack.surface.desk.web  # type: ignore[union-attr]
        await eventually(web.limits, "that the limit is known")
        for _ in range(49):
            await a_while(slack, 10)
        assert len(slack.server.calls_of(method)) == before + 1
        assert f"slack: {method} is limited until" in slack.health()
        limit.times = 0
        await a_while(slack, 11)
        await slack.keeps_delivering(lambda: len(slack.cards()) == 6)
        await eventually_async(lambda: all_begun(slack), "that all three begin")


@pytest.mark.parametrize("way", ["emoji", "slash", "said", "form"])
async def test_a_stop_does_not_wait_for_the_end_of_a_long_limit(way: str) -> None:
    """Until then Slack says of nobody who they are: the config tells whose account it is."""
    async with on_slack() as slack:
        card = await slack.proposes(**a_mail(1))
        await slack.server.reacts("UANA", card.ts)
        await slack.stands("p1", "executing")
        other = await slack.proposes(**a_mail(2))
        limit = slack.server.fails("users.info", "ratelimited", retry_after_s=600, times=None)
        await slack.server.reacts("UANA", other.ts)
        await slack.server.reacts("UEVE", other.ts, "x")

        if way == "emoji":
            await slack.server.reacts("UBEN", card.ts, "x")
        elif way == "slash":
            await slack.server.slash("UBEN", "roll-back p1 wrong amount")
        elif way == "form":
            await slack.server.presses("UBEN", card, "signoff_reject")
            (form,) = await eventually(lambda: slack.server.calls_of("views.open"), "the form")
            view = form.arguments["view"] | {"id": "V1"}
            await slack.server.submits("UBEN", view, {"reason_text": "wrong amount"})
        else:
            bot = slack.server.workspace.bot_user
            await slack.server.says("UBEN", f"<@{bot}> roll-back p1 wrong amount")

        await slack.stands("p1", "rolled_back")
        assert str((await slack.world.proposal("p1")).decided_by) == "person ben"
        assert (await slack.world.proposal("p2")).state.value == "sentinel_approved"

        limit.times = 0  # a ✅ has waited: the config alone says of nobody that they may approve
        slack.world.clock.advance(601)
        await slack.stands("p2", "executing")


@pytest.mark.parametrize("restarted", [False, True])
async def test_a_proposal_that_waited_for_a_long_limit_is_no_older_than_when_it_was_heard(
    *, restarted: bool
) -> None:
    """It was refused as `implausible_time`: its agent was told that its clock was wrong."""
    async with on_slack() as slack:
        limit = slack.server.fails("users.info", "ratelimited", retry_after_s=1_800, times=None)
        await slack.server.proposes("ULEILA", slack.document(**a_mail(1)))
        stale = slack.document(**a_mail(2), ts_ms=slack.world.clock.now_ms() - 700_000)
        await slack.server.proposes("ULEILA", stale)
        web = slack.surface.desk.web  # type: ignore[union-attr]
        await eventually(web.limits, "that the limit is known")
        limit.times = 0
        if restarted:
            await slack.closes()
            slack.world.clock.advance(1_801)
            await slack.restarts()
        else:
            slack.world.clock.advance(1_801)

        await slack.stands("p1", "sentinel_approved")
        await slack.settles()
        refused = await slack.world.audit("refused")
        assert [each["reason"] for each in refused] == ["implausible_time"]  # which is what p2 is


async def test_a_short_limit_is_waited_for_by_a_stop_as_well() -> None:
    """Slack then says of a deactivated account that it is one, and the ❌ counts for nothing."""
    async with on_slack() as slack:
        card = await slack.proposes(**a_mail(1))
        slack.server.workspace.users["UBEN"].deleted = True
        slack.server.fails("users.info", "ratelimited", retry_after_s=50)
        before = len(slack.server.calls_of("users.info"))
        await slack.server.reacts("UBEN", card.ts, "x")
        await eventually(lambda: len(slack.server.calls_of("users.info")) > before + 1, "once more")
        await slack.settles()
        assert (await slack.world.proposal("p1")).state.value == "sentinel_approved"
