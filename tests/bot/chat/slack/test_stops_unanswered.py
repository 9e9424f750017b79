"""A stop waits for a minute at most until Slack says who gave it; then the config tells that."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from bot.chat.hearing.shown import HEARD_MS, as_it_showed
from bot.chat.slack import speaking
from bot.chat.surface import SurfaceFailed
from lifecycle.answers import Sender
from tests.bot.chat.slack.counted import mention
from tests.bot.chat.slack.test_accounts_moved import is_another_one
from tests.bot.chat.slack.test_limited import a_mail, a_while
from tests.fakes.slack_server.workspace import Message
from tests.slack_stage import OnSlack, eventually, on_slack

ROLL_BACK = "roll-back p1 wrong amount"


async def stops(slack: OnSlack, card: Message, way: str) -> None:
    """Let ben take back what was done, while Slack does not say who he is."""
    before = len(slack.server.calls_of("users.info"))
    if way == "slash":
        await slack.server.slash("UBEN", ROLL_BACK)
    elif way == "emoji":
        await slack.server.reacts("UBEN", card.ts, "x")
    elif way == "said":
        await slack.server.says("UBEN", f"<@{slack.server.workspace.bot_user}> {ROLL_BACK}")
    else:
        await slack.server.presses("UBEN", card, "signoff_reject")
        (form,) = await eventually(lambda: slack.server.calls_of("views.open"), "the form")
        view = form.arguments["view"] | {"id": "V1"}
        await slack.server.submits("UBEN", view, {"reason_text": "wrong amount"})
    await eventually(lambda: len(slack.server.calls_of("users.info")) > before, "asked once")


async def in_window(slack: OnSlack) -> Message:
    card = await slack.proposes(**a_mail(1))
    await slack.server.reacts("UANA", card.ts)
    await slack.stands("p1", "executing")
    return card


async def stopped_after(slack: OnSlack, rounds: int) -> bool:
    """Let so many rounds of ten seconds pass; say whether it was taken back."""
    for _ in range(rounds):
        await a_while(slack, 10)
    return (await slack.world.proposal("p1")).state.value == "rolled_back"


@pytest.mark.parametrize("way", ["slash", "said", "form"])
@pytest.mark.parametrize(
    "fault",
    [
        {"kind": "ratelimited", "retry_after_s": 20},  # again and again, which Slack may do
        {"kind": "status", "status": 503},
        {"kind": "error", "error": "internal_error"},
        {"kind": "dropped"},
    ],
    ids=lambda fault: fault["kind"],
)
async def test_a_stop_is_carried_out_although_slack_says_of_nobody_who_they_are(
    fault: dict[str, Any], way: str
) -> None:
    """It held for as long as that took, and took nothing back."""
    async with on_slack() as slack:
        card = await in_window(slack)
        slack.server.fails("users.info", times=None, **fault)
        await stops(slack, card, way)
        assert await stopped_after(slack, rounds=10)
        assert str((await slack.world.proposal("p1")).decided_by) == "person ben"


async def test_a_stop_of_an_account_that_is_gone_counts_for_nothing_once_slack_says_so() -> None:
    async with on_slack() as slack:
        card = await in_window(slack)
        slack.server.workspace.users["UBEN"].deleted = True
        slack.server.fails("users.info", "status", status=503, times=2)
        await stops(slack, card, "slash")
        assert not await stopped_after(slack, rounds=10)


async def test_a_stop_does_not_wait_behind_what_is_asked_about_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with on_slack() as slack:
        card = await slack.proposes(**a_mail(1))
        desk, listening = slack.surface.desk, slack.surface.listening
        assert desk is not None
        assert desk.me is not None
        assert listening is not None
        slack.server.hold("users.info")
        await slack.server.reacts("UANA", card.ts)
        await eventually(lambda: slack.server.waiting("users.info"), "asked about ana")
        for limit in ("LONGEST_WAIT_S", "_SAID_S"):
            monkeypatch.setattr(speaking, limit, 0.01)
        asking = speaking.Speaking(desk, desk.me, listening.asides)
        sender = await asking.sender("UBEN", "T1", "e1", stops=True)
        assert (sender.id, sender.event_id) == ("ben", "e1")
        assert len(slack.server.waiting("users.info")) == 1  # nothing was answered meanwhile
        slack.server.release("users.info")


async def asked_long_after(slack: OnSlack, heard_ms_ago: int, *, stops: bool = True) -> Sender:
    """Ask who ben's account is, for what was heard so long ago."""
    desk, listening = slack.surface.desk, slack.surface.listening
    assert desk is not None
    assert desk.me is not None
    assert listening is not None
    asking = speaking.Speaking(desk, desk.me, listening.asides)
    with as_it_showed({HEARD_MS: slack.world.clock.now_ms() - heard_ms_ago}):
        return await asking.sender("UBEN", "T1", "e1", "C0OPS", stops=stops)


@pytest.mark.parametrize(
    ("minute_s", "heard_ms_ago"),
    [(60.0, 59_990), (0.01, -3_600_000)],  # to come: the clock was set back
)
async def test_a_stop_that_has_waited_already_waits_for_the_rest_of_the_minute_alone(
    monkeypatch: pytest.MonkeyPatch, minute_s: float, heard_ms_ago: int
) -> None:
    async with on_slack() as slack:
        monkeypatch.setattr(speaking, "_SAID_S", 0.01)
        monkeypatch.setattr(speaking, "LONGEST_WAIT_S", minute_s)
        slack.server.hold("users.info")
        async with asyncio.timeout(10):
            sender = await asked_long_after(slack, heard_ms_ago)
        assert (sender.id, sender.event_id, sender.place) == ("ben", "e1", "C0OPS")
        slack.server.release("users.info")


async def test_slack_is_asked_who_stops_something_however_long_ago_that_was(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with on_slack() as slack:
        monkeypatch.setattr(speaking, "_SAID_S", 60.0)  # it answers at once, on a machine at rest
        slack.server.workspace.users["UBEN"].deleted = True
        assert (await asked_long_after(slack, 60_000)).id is None


async def test_only_a_stop_counts_for_somebody_of_whom_slack_says_nothing() -> None:
    async with on_slack() as slack:
        slack.server.fails("users.info", "status", status=503, times=None)
        assert (await asked_long_after(slack, 120_000)).id == "ben"
        with pytest.raises(SurfaceFailed):
            await asked_long_after(slack, 120_000, stops=False)


async def test_a_stop_counts_for_whoever_had_the_account_when_it_was_heard() -> None:
    """A new config had given ben another account by the time Slack was not waited for any more."""
    async with on_slack() as slack:
        card = await slack.proposes(**a_mail(1))
        await slack.settles()
        slack.server.fails("users.info", "status", status=503, times=None)
        await stops(slack, card, "slash")
        await is_another_one(slack, "ben")
        for _ in range(10):
            await a_while(slack, 10)
        assert str((await slack.world.proposal("p1")).decided_by) == "person ben"


async def test_a_stop_counts_although_its_event_names_another_workspace_of_the_grid() -> None:
    async with on_slack() as slack:
        await in_window(slack)
        slack.server.fails("users.info", "error", times=None)
        words = f"<@{slack.server.workspace.bot_user}> {ROLL_BACK}"
        await slack.server.says("UBEN", words, team="T9")
        assert await stopped_after(slack, rounds=10)
        assert str((await slack.world.proposal("p1")).decided_by) == "person ben"


@pytest.mark.parametrize("way", ["said", "slash"])
async def test_whoever_takes_back_a_proposal_of_their_own_waits_a_minute_at_most_for_slack(
    way: str,
) -> None:
    """It held its proposal, which nobody could end or begin, for as long as Slack was silent."""
    async with on_slack() as slack:
        if way == "said":  # its agent
            await slack.proposes(**a_mail(1))
            withdraw = slack.server.says("ULEILA", mention(slack, "withdraw p1"))
        else:  # the person who proposed it
            await slack.server.says("UANA", mention(slack, f"propose {of_ana(slack)}"))
            await slack.stands("p1", "sentinel_approved")
            withdraw = slack.server.slash("UANA", "withdraw p1")
        slack.server.fails("users.info", "status", status=503, times=None)
        await withdraw
        for _ in range(10):
            await a_while(slack, 10)
        assert (await slack.world.proposal("p1")).reason == "withdrawn"


def of_ana(slack: OnSlack) -> str:
    return slack.text(**a_mail(1) | {"actor": "ana"})
