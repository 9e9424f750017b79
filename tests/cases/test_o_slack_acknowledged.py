"""Case O04 on Slack: nobody is told that it timed out, however slow the work or the store is."""

from __future__ import annotations

import asyncio

import pytest

from lifecycle.freezing import frozen
from tests.bot.chat.slack.counted import mention
from tests.builders import MAIL, PROD
from tests.fakes.slack_server.signed import Answered
from tests.fakes.slack_server.sockets import Envelope
from tests.fakes.slack_server.stage import Delivered
from tests.slack_stage import eventually, on_slack


async def test_O04_a_slow_command_is_acknowledged_at_once_and_its_repeat_recognised() -> None:
    async with on_slack() as slack:
        slack.server.hold("users.info")
        text = f"propose {slack.text(MAIL, proposal_id='p1', actor='ana')}"
        first = await slack.server.slash("UANA", text)
        again = await slack.server.slash("UANA", text)
        await eventually(lambda: first.acks and again.acks, "acknowledging")
        assert "Received p1" in first.acks[0]["payload"]["text"]
        slack.server.release("users.info")
        await slack.settles()
        said = await eventually(lambda: len(slack.server.responses) == 2 and slack.server.responses)
        assert '"deduplicated": true' in said[1]["text"]
        assert len(slack.cards("p1")) == 1


@pytest.fixture
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    """A bot that waits for its store for a moment alone; how long it does is tested elsewhere."""
    monkeypatch.setattr("bot.chat.slack.interactions._STORED_S", 0.1)


async def acknowledged_in_time(delivered: Delivered) -> None:
    """See it acknowledged before Slack tells the person that it timed out."""
    assert isinstance(delivered, Envelope)
    async with asyncio.timeout(3):
        await delivered.acked.wait()


async def test_O04_a_command_is_acknowledged_in_time_however_slow_the_store_is() -> None:
    async with on_slack() as slack:
        stored = slack.store_waits()
        text = f"propose {slack.text(MAIL, proposal_id='p1', actor='ana')}"
        first = await slack.server.slash("UANA", text)
        await acknowledged_in_time(first)
        again = await slack.server.slash("UANA", text)
        await acknowledged_in_time(again)
        assert "Received p1" in first.acks[0]["payload"]["text"]
        assert await slack.world.store.read(lambda tx: tx.proposals.get("p1")) is None
        stored.set()
        await eventually(lambda: len(slack.server.responses) == 2, "both answers")
        said = sorted(each["text"] for each in slack.server.responses)
        assert [text.count('"deduplicated": true') for text in said] == [0, 1]
        await slack.card("p1")
        assert len(slack.cards("p1")) == 1


async def test_O04_a_command_is_acknowledged_in_time_behind_all_that_waits_for_the_store() -> None:
    async with on_slack() as slack:
        card = await slack.proposes(PROD)
        stored = slack.store_waits()
        for number in range(50):
            await slack.server.says("UBEN", mention(slack, f"status {number}"))
        asked = await slack.server.slash("UANA", "status")
        pressed = await slack.server.presses("UANA", card, "signoff_approve")
        for delivered in (asked, pressed):
            await acknowledged_in_time(delivered)
        stored.set()


@pytest.mark.usefixtures("hasty")
async def test_O04_a_freeze_is_acknowledged_once_it_is_stored() -> None:
    async with on_slack() as slack:
        stored = slack.store_waits()
        freeze = await slack.server.slash("UANA", "freeze something is wrong")
        asked = await slack.server.slash("UANA", "status")
        await acknowledged_in_time(asked)  # which came after it
        assert isinstance(freeze, Envelope)
        assert not freeze.acked.is_set()
        stored.set()
        await acknowledged_in_time(freeze)
        await slack.settles()
        assert await slack.world.store.read(frozen) is not None


@pytest.mark.usefixtures("hasty")
async def test_O04_reject_opens_its_form_while_that_is_possible_however_slow_the_store_is() -> None:
    async with on_slack() as slack:
        card = await slack.proposes(PROD)
        stored = slack.store_waits()
        pressed = await slack.server.presses("UBEN", card, "signoff_reject")
        await acknowledged_in_time(pressed)
        async with asyncio.timeout(1):
            (view,) = await eventually(lambda: slack.server.workspace.views, "the form")
        stored.set()
        await slack.server.submits("UBEN", view, {"reason_text": "wrong version"})
        await slack.stands("p1", "rejected")
        assert len(slack.server.workspace.views) <= 1


async def test_O04_over_http_a_command_is_acknowledged_in_time_too(unused_tcp_port: int) -> None:
    async with on_slack(port=unused_tcp_port) as slack:
        slack.over_http()
        stored = slack.store_waits()
        text = f"propose {slack.text(MAIL, proposal_id='p1', actor='ana')}"
        async with asyncio.timeout(3):
            answered = await slack.server.slash("UANA", text)
        assert isinstance(answered, Answered)
        assert answered.status == 200
        assert "Received p1" in answered.body
        stored.set()
        await slack.card("p1")


@pytest.mark.usefixtures("hasty")
async def test_O04_whoever_was_acknowledged_is_told_where_nothing_can_be_stored_after_all() -> None:
    async with on_slack() as slack:
        card = await slack.proposes(PROD)
        stored = slack.store_waits()
        asked = await slack.server.slash("UANA", "approve p1")
        pressed = await slack.server.presses("UBEN", card, "signoff_approve")
        for delivered in (asked, pressed):
            await acknowledged_in_time(delivered)
        slack.store_fails(True)
        stored.set()
        (told,) = await eventually(lambda: slack.server.responses, "the word to ana")
        (hint,) = await eventually(slack.hints, "the word to ben")
        for words in (told["text"], hint):
            assert "nothing was done" in words
        assert (await slack.world.proposal("p1")).state.value == "sentinel_approved"


@pytest.mark.usefixtures("hasty")
async def test_O04_a_stop_is_acknowledged_once_nothing_can_lose_it_and_counts() -> None:
    async with on_slack() as slack:
        card = await slack.proposes(PROD)
        await slack.server.presses("UBEN", card, "signoff_reject")
        (view,) = await eventually(lambda: slack.server.workspace.views, "the form")
        stored = slack.store_waits()
        asked = await slack.server.slash("UANA", "approve p1")
        sent = await slack.server.submits("UBEN", view, {"reason_text": "wrong version"})
        await acknowledged_in_time(asked)  # which came before it
        assert isinstance(sent, Envelope)
        assert not sent.acked.is_set()
        stored.set()
        await acknowledged_in_time(sent)
        await slack.stands("p1", "rejected")
        assert "wrong version" in (await slack.world.proposal("p1")).explanation
