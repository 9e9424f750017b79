"""A ✅ that is typed waits for every ❌ that was given before it elsewhere, and not for good."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from lifecycle.checking.sentinel_run import Sentinel
from sentinel_rules import load_rules
from tests.bot.chat.discord.standing import DEPLOY, unheard
from tests.bot.chat.test_two_surfaces import Two
from tests.bot.chat.test_two_surfaces import two as two
from tests.fakes.discord_fixtures import discord_server as discord_server
from tests.fakes.discord_stage import BEN, CROSS, until
from tests.roads import adopted
from tests.terminal import AnyTerminal, a_terminal_beside


def terminal_of(two: Two) -> AnyTerminal:
    return a_terminal_beside(two.workflow, two.broadcast)


async def test_a_stop_missed_on_discord_beats_an_approval_typed_meanwhile(two: Two) -> None:
    proposal_id, on_discord, _ = await two.on_both()
    unheard(on_discord, BEN, CROSS)
    two.server.gateway.forgets_sessions = True
    two.server.gateway.cut()
    await until(lambda: not two.surface.hearing.connected, "the loss")
    lines = await terminal_of(two).types(f"ana: approve {proposal_id}")
    assert "already_decided" in lines[0]
    assert (await two.proposal(proposal_id)).reason == "rejected_by_person"
    assert two.tool(DEPLOY).verbs() == []


async def test_a_stop_missed_on_slack_beats_an_approval_typed_meanwhile(two: Two) -> None:
    proposal_id, _, on_slack = await two.on_both()
    assert two.slack_server is not None
    await two.slack_server.reacts("UBEN", on_slack.ts, "x", heard=False)
    await two.slack_server.sockets.drop()
    await until(lambda: not two.slack_hears(), "the loss")
    await terminal_of(two).types(f"ana: approve {proposal_id}")
    assert (await two.proposal(proposal_id)).reason == "rejected_by_person"
    assert two.tool(DEPLOY).verbs() == []


async def test_a_typed_approval_does_not_wait_for_good_for_a_platform_that_cannot_be_read(
    two: Two,
) -> None:
    proposal_id, _, _ = await two.on_both()
    two.server.fails("GET", "/messages/", status=500, times=None)
    two.server.gateway.accepts = False
    two.server.gateway.cut()
    await until(lambda: not two.surface.hearing.connected, "the loss")
    typing = asyncio.create_task(terminal_of(two).types(f"ana: approve {proposal_id}"))
    for _ in range(10):
        assert two.tool(DEPLOY).verbs() == []
        await asyncio.sleep(0.01)

    async def in_time() -> bool:
        two.clock.advance(1)
        return typing.done()

    await until(in_time, "answered")
    assert two.tool(DEPLOY).verbs() == ["execute"]


async def test_what_is_not_an_approval_waits_for_no_other_surface(two: Two) -> None:
    proposal_id, _, _ = await two.on_both()
    two.server.fails("GET", "/messages/", status=500, times=None)
    two.server.gateway.accepts = False
    two.server.gateway.cut()
    await until(lambda: not two.surface.hearing.connected, "the loss")
    terminal = terminal_of(two)
    assert await terminal.types("pending")
    await terminal.types(f"ben: reject {proposal_id} no")
    assert (await two.proposal(proposal_id)).reason == "rejected_by_person"


async def test_whoever_may_be_spoken_for_no_more_when_a_typed_approval_counts_approves_nothing(
    two: Two,
) -> None:
    proposal_id, _, _ = await two.on_both()
    gate = asyncio.Event()
    held = two.server.fails("GET", "/messages/", gate=gate, times=None)
    two.server.gateway.forgets_sessions = True
    two.server.gateway.cut()
    await until(lambda: not two.surface.hearing.connected, "the loss")
    typing = asyncio.create_task(terminal_of(two).types(f"ana: approve {proposal_id}"))
    await until(lambda: held.seen, "its card is read")
    people = {**two.policy.people, "ana": replace(two.policy.people["ana"], terminal=False)}
    policy = replace(two.policy, people=people)
    await adopted(two.workflow, policy, Sentinel(load_rules(policy.rules)))
    gate.set()

    assert "not_a_reviewer" in (await typing)[0]
    assert await two.reviews(proposal_id) == []
    assert two.tool(DEPLOY).verbs() == []
