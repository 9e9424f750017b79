"""Slack's transport: retries, silence, acknowledgements, rate limits, lost answers."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from bot.storage.memory import MemoryStore
from lifecycle.policy import Safety
from tests.builders import PROD, a_policy
from tests.slack_stage import eventually, on_slack, shown


async def test_O01_the_same_event_four_times_is_handled_once() -> None:
    async with on_slack() as slack:
        card = await slack.proposes(PROD, approval_class="dual")
        envelope = await slack.server.reacts("UANA", card.ts)
        for _ in range(3):
            await slack.server.sockets.again(envelope)
        await slack.settles()
        assert len(envelope.acks) == 4
        reviews = await slack.world.store.read(lambda tx: tx.reviews.of("p1"))
        assert len(reviews) == 1
        assert await slack.codes() == []


async def test_O01_a_slow_event_is_acknowledged_each_time_and_handled_once() -> None:
    async with on_slack() as slack:
        card = await slack.proposes(PROD, approval_class="dual")
        slack.server.hold("users.info")
        envelope = await slack.server.reacts("UANA", card.ts)
        await eventually(lambda: slack.server.waiting("users.info"), "the slow work")
        for delivered in range(1, 5):
            async with asyncio.timeout(3):
                await envelope.acked.wait()
            assert len(envelope.acks) == delivered
            if delivered < 4:
                await slack.server.sockets.again(envelope)
        assert await slack.world.store.read(lambda tx: tx.reviews.of("p1")) == []
        assert len(slack.server.waiting("users.info")) == 1

        slack.server.release("users.info")
        await slack.settles()
        reviews = await slack.world.store.read(lambda tx: tx.reviews.of("p1"))
        assert [review.person for review in reviews] == ["ana"]
        assert await slack.codes() == []
        await eventually(lambda: "approved by 1 of 2 (ana)" in shown(card), "showing it")


async def test_O01_over_http_the_same_event_four_times_is_answered_in_time_and_handled_once(
    unused_tcp_port: int,
) -> None:
    async with on_slack(port=unused_tcp_port) as slack:
        poster = slack.over_http()
        await slack.server.proposes("ULEILA", slack.document(PROD, approval_class="dual"))
        card = await slack.card("p1")
        slack.server.hold("users.info")
        await slack.server.reacts("UANA", card.ts, heard=False)
        event = slack.server.reaction("reaction_added", "UANA", card.ts)
        payload = {"type": "event_callback", "team_id": "T1", "event_id": "Ev-1", "event": event}
        for attempt in range(4):
            async with asyncio.timeout(3):
                answered = await poster.event(payload, slack.wall_s(), attempt=attempt)
            assert answered.status == 200
        slack.server.release("users.info")
        await slack.settles()
        reviews = await slack.world.store.read(lambda tx: tx.reviews.of("p1"))
        assert [review.person for review in reviews] == ["ana"]
        assert await slack.codes() == []


async def test_O01_an_event_is_remembered_by_the_next_process() -> None:
    async with on_slack() as slack:
        card = await slack.proposes(PROD, approval_class="dual")
        envelope = await slack.server.reacts("UCAL", card.ts)
        await slack.settles()
        await slack.restarts()
        await slack.server.sockets.again(envelope)
        await slack.settles()
        assert await slack.codes("p1") == ["not_a_reviewer"]


async def test_O01_an_event_that_was_stored_and_not_worked_is_worked_by_the_next_process() -> None:
    async with on_slack() as slack:
        card = await slack.proposes(PROD)
        slack.server.hold("users.info")
        envelope = await slack.server.reacts("UANA", card.ts)
        await eventually(envelope.acked.is_set, "acknowledging")
        await slack.closes()
        slack.server.release("users.info")
        await slack.restarts()
        await slack.stands("p1", "completed")


async def test_O01_what_cannot_be_stored_is_not_acknowledged() -> None:
    async with on_slack() as slack:
        card = await slack.proposes(PROD)
        slack.store_fails(True)
        envelope = await slack.server.reacts("UANA", card.ts)
        await slack.beats(5)
        assert not envelope.acks
        slack.store_fails(False)
        await slack.server.sockets.again(envelope)
        await slack.stands("p1", "completed")


async def test_O03_a_deaf_connection_turns_red_is_replaced_and_cards_are_read() -> None:
    async with on_slack() as slack:
        card = await slack.proposes(PROD)
        slack.server.sockets.silent = True
        await slack.server.reacts("UANA", card.ts)
        slack.world.clock.advance(120)
        await eventually(
            lambda: "DEAF" in slack.health() or "DOWN" in slack.health(), "turning red"
        )
        assert (await slack.world.proposal("p1")).state.value == "sentinel_approved"
        slack.server.sockets.silent = False
        slack.server.sockets.unasked.clear()
        await eventually(lambda: slack.server.sockets.opened >= 2 and slack.hearing.connected)
        await slack.keeps_catching_up()
        await slack.stands("p1", "completed")


async def test_O03_a_deaf_connection_that_nobody_bids_goodbye_is_hung_up_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("bot.chat.slack.client._GOODBYE_S", 0.2)
    async with on_slack(opened=False) as slack:
        sockets = slack.server.sockets
        sockets.answers_goodbyes = False
        await slack.opens()
        await slack.proposes(PROD)
        slack.world.clock.advance(120)
        await eventually(lambda: sockets.opened >= 2 and slack.hearing.connected, "anew")
        await eventually(lambda: sockets.hung_up, "hanging up")


async def test_O03_a_socket_that_is_told_to_come_back_misses_nothing() -> None:
    async with on_slack() as slack:
        card = await slack.proposes(PROD, approval_class="dual")
        await slack.server.reacts("UANA", card.ts)
        await slack.settles()
        opened = slack.server.sockets.opened
        await slack.server.sockets.disconnect()
        await eventually(lambda: slack.server.sockets.opened > opened)
        await slack.hears()
        await slack.server.reacts("UBEN", card.ts)
        await slack.stands("p1", "completed")


async def test_O03_a_cut_connection_is_made_anew_and_what_was_missed_is_found() -> None:
    async with on_slack() as slack:
        card = await slack.proposes(PROD)
        opened = slack.server.sockets.opened
        await slack.server.sockets.drop()
        await slack.server.reacts("UANA", card.ts, heard=False)
        await eventually(lambda: slack.server.sockets.opened > opened, "connecting anew")
        await slack.hears()
        await slack.keeps_catching_up()
        await slack.stands("p1", "completed")


async def test_O05_twenty_proposals_under_a_rate_limit_are_twenty_cards_in_order() -> None:
    policy = a_policy()
    leila = replace(policy.agents["leila"], open_limit=50)
    limits = replace(policy.limits, rate=dict.fromkeys(Safety, 1_000))
    policy = replace(policy, agents={**policy.agents, "leila": leila}, limits=limits)
    async with on_slack(policy) as slack:
        slack.server.fails("*", "ratelimited", times=None, every=3, retry_after_s=2)
        for number in range(20):
            document = slack.document(
                proposal_id=f"q{number:02}",
                actor="leila",
                parameters={"to": "pat@partner.example", "subject": str(number), "body": "x"},
            )
            await slack.world.workflow.submit(slack.bytes_of(document), slack.leila())
        names = [f"q{number:02}" for number in range(20)]
        await eventually(lambda: len(slack.cards()) >= 20 and slack.seeded("q19"), "20 cards")
        cards = [shown(card).rsplit("🟡", 1)[-1].split()[0] for card in slack.cards()]
        assert cards == names


async def test_O05_a_lost_answer_posts_no_second_card() -> None:
    async with on_slack() as slack:
        await slack.beats(3)
        slack.server.fails("chat.postMessage", "lost_answer", times=None, every=2)
        await slack.server.proposes("ULEILA", slack.document(PROD, proposal_id="p1"))
        await slack.keeps_delivering(lambda: slack.seeded("p1"))
        card = await slack.card_row("p1")
        assert len(slack.cards("p1")) == 1
        assert card.message_ids == (slack.cards("p1")[0].ts,)


async def test_O05_a_card_posted_by_a_process_that_died_is_found_by_the_next() -> None:
    async with on_slack() as slack:
        await slack.beats(3)
        slack.server.hold("chat.postMessage")
        await slack.world.workflow.submit(
            slack.bytes_of(slack.document(PROD, proposal_id="p1")), slack.leila()
        )
        await eventually(lambda: slack.claimed("p1"))
        fault = slack.server.fails("chat.postMessage", "lost_answer", times=1)
        slack.server.release("chat.postMessage")
        await eventually(lambda: fault.times == 0)
        await slack.closes()
        await slack.restarts()
        await slack.keeps_delivering(lambda: slack.seeded("p1"))
        assert len(slack.cards("p1")) == 1


async def test_O06_two_sockets_of_one_app_hear_an_event_once() -> None:
    store = MemoryStore()
    async with on_slack(store=store) as slack:
        card = await slack.proposes(PROD)
        envelope = await slack.server.reacts("UANA", card.ts)
        await asyncio.gather(*(slack.server.sockets.again(envelope) for _ in range(2)))
        await slack.stands("p1", "completed")
        assert len(slack.world.tool("production-deploy").calls) == 1
        assert len(slack.cards("p1")) == 1
