"""An answer with other types than Slack's is none: no stop is lost over it, nothing is final."""

from __future__ import annotations

from typing import Any

import pytest

from bot.chat.hearing.signals import Signal
from bot.chat.slack.emoji import listed
from bot.chat.slack.shapes import readable
from tests.bot.chat.slack.test_stops_unanswered import stopped_after, stops
from tests.bot.chat.slack.windows import in_window
from tests.builders import PROD
from tests.slack_stage import on_slack

BEN = {"id": "UBEN", "team_id": "T1"}
ODD_ACCOUNTS: list[dict[str, Any]] = [
    {"team_id": ["T1"]},
    {"enterprise_user": "E1"},
    {"enterprise_user": {"teams": 5}},
    {"enterprise_user": {"teams": [["T1"]]}},
]
ODD_LISTS: list[Any] = [
    "x",
    ["x"],
    [{"name": "x", "users": 5, "count": 1}],
    [{"name": "x", "users": [["UBEN"]], "count": 1}],
    [{"name": "x", "users": [], "count": None}],
    [{"name": "x", "users": []}],
]


@pytest.mark.parametrize("odd", ODD_ACCOUNTS)
async def test_a_stop_counts_whatever_slack_says_of_its_givers_account(
    odd: dict[str, Any],
) -> None:
    """It was tried a few times, then given up."""
    async with on_slack() as slack:
        card = await in_window(slack)
        slack.server.fails("users.info", "vague", says={"user": BEN | odd}, times=None)
        await stops(slack, card, "said")
        assert await stopped_after(slack, 10)


@pytest.mark.parametrize("odd", ODD_LISTS)
async def test_a_window_stays_open_while_nobody_can_say_who_stands_under_its_card(odd: Any) -> None:
    async with on_slack() as slack:
        card = await in_window(slack)
        message = card.as_json() | {"reactions": odd}
        slack.server.fails("reactions.get", "vague", says={"message": message}, times=None)
        for _ in range(10):
            slack.world.clock.advance(100)
            slack.hearing.alive()
            await slack.beats(2)
            await slack.broadcast.catch_up()
        await slack.world.workflow.close_due()
        await slack.beats(20)
        assert (await slack.world.proposal("p1")).state.value == "executing"


@pytest.mark.parametrize("messages", [{}, "x", ["x"], [[]], [None]])
@pytest.mark.parametrize("method", ["conversations.history", "conversations.replies"])
def test_what_is_no_list_of_messages_is_not_read(method: str, messages: Any) -> None:
    assert not readable(method, {"ok": True, "messages": messages})


@pytest.mark.parametrize("messages", [None, [], [{"metadata": {"event_payload": {"key": 1}}}]])
def test_what_others_posted_and_what_slack_leaves_out_is_read(messages: Any) -> None:
    assert readable("conversations.history", {"ok": True, "messages": messages})


@pytest.mark.parametrize(
    "odd",
    [
        {"metadata": {"event_type": "of_another_app", "event_payload": []}},
        {"metadata": {"event_type": "of_another_app", "event_payload": ["x"]}},
        {"blocks": [{"type": "of_tomorrow", "elements": {"x": 1}}]},
        {"reactions": [{"name": "tada", "users": [None], "count": 1}], "files": [None]},
        {"ts": None},
    ],
)
async def test_what_somebody_else_wrote_keeps_no_card_from_being_posted(
    odd: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """After one strange message in the channel no card whose answer was lost, and after a restart
    no card at all, was posted for two days."""
    async with on_slack() as slack:
        await slack.beats(5)
        slack.server.fails("chat.postMessage", "lost_answer", holding="PROPOSAL from agent")
        sends = slack.server._json

        def beside(body: dict[str, Any], *rest: Any) -> Any:
            if isinstance(body.get("messages"), list):
                theirs = {"type": "message", "user": "UELSE", "ts": "1.000001", "text": "hi", **odd}
                body = {**body, "messages": [theirs, *body["messages"]]}
            return sends(body, *rest)

        monkeypatch.setattr(slack.server, "_json", beside)
        await slack.server.proposes("ULEILA", slack.document(PROD, proposal_id="p1"))
        await slack.keeps_delivering(lambda: slack.seeded("p1"))
        assert len(slack.cards("p1")) == 1


@pytest.mark.parametrize(
    "ours", [{"metadata": "x"}, {"metadata": {"event_payload": [1]}}, {"ts": None}, {"ts": 7}]
)
async def test_a_card_is_not_posted_twice_over_a_message_of_the_bots_that_cannot_be_read(
    ours: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    async with on_slack() as slack:
        await slack.beats(5)
        slack.server.fails("chat.postMessage", "lost_answer", holding="PROPOSAL from agent")
        sends, looks = slack.server._json, list[dict[str, Any]]()

        def odd(body: dict[str, Any], *rest: Any) -> Any:
            if isinstance(body.get("messages"), list) and len(looks) < 3:
                looks.append(body)
                body = {**body, "messages": [{**each, **ours} for each in body["messages"]]}
            return sends(body, *rest)

        monkeypatch.setattr(slack.server, "_json", odd)
        await slack.server.proposes("ULEILA", slack.document(PROD, proposal_id="p1"))
        await slack.keeps_delivering(lambda: slack.seeded("p1"))
        assert len(slack.cards("p1")) == 1


async def test_an_account_counts_of_whose_grid_slack_makes_an_empty_list() -> None:
    async with on_slack() as slack:
        card = await in_window(slack)
        says = {"user": BEN | {"enterprise_user": [], "profile": {"fields": []}}}
        slack.server.fails("users.info", "vague", says=says, times=None)
        await stops(slack, card, "said")
        assert await stopped_after(slack, 0)


@pytest.mark.parametrize(
    ("told", "whole"),
    [({}, True), ({"count": 2}, True), ({"count": 3}, False), ({"count": "2"}, False)],
)
def test_a_list_is_whole_if_it_names_as_many_as_slack_counts_or_nobody_counts(
    told: dict[str, Any], whole: bool
) -> None:
    found = listed({"reactions": [{"name": "x", "users": ["UANA", "UBEN"]} | told]})
    assert found[Signal.STOP].whole is whole
