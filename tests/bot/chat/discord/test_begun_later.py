"""What was approved and had to wait begins over no ❌ that was given while nobody heard it."""

from __future__ import annotations

import asyncio
from typing import Final

from lifecycle.answers import Sender
from lifecycle.proposal import ActorKind, Verb
from tests.bot.chat.discord.cards import seeded
from tests.bot.chat.discord.standing import DEPLOY, approved_while_frozen, unheard
from tests.builders import REFUND
from tests.fakes.discord_server.state import Message
from tests.fakes.discord_stage import ANA, BEN, CROSS, TICK, DiscordStage, until

OPERATOR: Final = Sender("terminal", ActorKind.PERSON, "ana", account="ana")
AGENT: Final = Sender("http", ActorKind.AGENT, "leila", account="leila")


async def frozen_and_approved(stage: DiscordStage) -> tuple[str, Message]:
    """Let ana approve what cannot begin, and the bot end."""
    found = await approved_while_frozen(stage)
    await stage.ends()
    return found


async def test_a_stop_given_while_the_bot_was_away_is_heard_before_anything_begins(
    stage: DiscordStage,
) -> None:
    proposal_id, card = await frozen_and_approved(stage)
    stage.server.reacts(BEN, card, CROSS)
    stage.server.gateway.accepts = False
    await stage.begins(connected=False)
    assert (await stage.workflow.thaw(OPERATOR)).done
    for _ in range(3):
        await stage.workflow.open_ready()
        stage.clock.advance(1)
    assert stage.tool(DEPLOY).verbs() == []
    stage.server.gateway.accepts = True
    await stage.reaches(proposal_id, "rejected")
    assert (await stage.proposal(proposal_id)).reason == "rejected_by_person"
    assert stage.tool(DEPLOY).verbs() == []


async def test_what_waited_does_not_wait_for_good_for_a_card_that_cannot_be_read(
    stage: DiscordStage,
) -> None:
    proposal_id, _ = await frozen_and_approved(stage)
    stage.server.gateway.accepts = False
    stage.server.fails("GET", "/messages/", status=500, times=None)
    await stage.begins(connected=False)
    assert (await stage.workflow.thaw(OPERATOR)).done
    for _ in range(2):
        await stage.workflow.open_ready()
        assert stage.tool(DEPLOY).verbs() == []
        stage.clock.advance(6)
    await stage.workflow.open_ready()
    await stage.reaches(proposal_id, "completed")
    assert stage.tool(DEPLOY).verbs() == ["execute"]


async def permitted(stage: DiscordStage) -> tuple[str, Message, str]:
    """Let leila hold a permit, with the line lost to Discord then; return it last."""
    proposal_id, card = await seeded(stage, REFUND)
    stage.server.reacts(ANA, card, TICK)
    await until(lambda: stage.reviews(proposal_id), "counted")
    await stage.quiet()
    kept = await stage.store.read(lambda tx: tx.permits.of(proposal_id, Verb.EXECUTE.value, 1))
    assert kept is not None
    stage.server.gateway.forgets_sessions = True
    stage.server.gateway.accepts = False
    stage.server.gateway.cut()
    await until(lambda: not stage.surface.hearing.connected, "the loss")
    return proposal_id, card, kept.token


async def test_an_agent_begins_nothing_by_its_permit_over_a_stop_that_nobody_heard(
    stage: DiscordStage,
) -> None:
    proposal_id, card, permit = await permitted(stage)
    unheard(card, BEN, CROSS)
    reply = await stage.workflow.redeem(permit, REFUND["parameters"], AGENT)
    assert (reply.done, reply.code) == (False, "already_decided")
    assert (await stage.proposal(proposal_id)).reason == "rejected_by_person"


async def test_an_agent_does_not_wait_for_good_to_begin_by_its_permit(
    stage: DiscordStage,
) -> None:
    _, _, permit = await permitted(stage)
    stage.server.fails("GET", "/messages/", status=500, times=None)
    redeeming = asyncio.create_task(stage.workflow.redeem(permit, REFUND["parameters"], AGENT))

    async def in_time() -> bool:
        stage.clock.advance(1)
        return redeeming.done()

    for _ in range(10):
        assert not redeeming.done()
        await asyncio.sleep(0.01)
    await until(in_time, "answered")
    assert (await redeeming).done
