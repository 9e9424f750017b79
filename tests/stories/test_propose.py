"""PROPOSE: the orchestrator or a person opens, people have fifteen minutes to object."""

from __future__ import annotations

from dataclasses import replace

import pytest

from lifecycle.proposal import Attention
from lifecycle.state import State
from lifecycle.tier import Tier
from tests.builders import MAIL, UNSEEN
from tests.fakes.tools import answering, raising
from tests.roomy import a_roomy_policy
from tests.world import World


async def auto_approving(world: World) -> None:
    await world.adopts(orchestrator="nour", auto_approval_tiers=frozenset({Tier.PROPOSE}))


async def test_without_auto_approval_a_mail_waits_for_a_person(world: World) -> None:
    answer = await world.submits(MAIL)

    assert answer.state == "sentinel_approved"
    assert world.tool("send-email").calls == []


async def test_what_is_late_has_expired_once_anything_else_is_proposed(world: World) -> None:
    late = (await world.submits(MAIL)).proposal_id or ""
    world.clock.advance(24 * 3600)
    await world.submits(MAIL, parameters=MAIL["parameters"] | {"body": "Another"})

    assert (await world.trail(late))[-1] == "reject"
    assert (await world.proposal(late)).reason == "expired"


async def test_what_is_late_is_taken_for_no_newer_one_however_many_are_late(world: World) -> None:
    roomy = a_roomy_policy()
    await world.adopts(tools=roomy.tools, limits=roomy.limits, agents=roomy.agents)
    for number in range(51):  # one more than a submit expires
        await world.submits(MAIL, parameters=MAIL["parameters"] | {"body": f"Mail {number}"})
        world.clock.advance(1)
    late = (await world.submits(MAIL)).proposal_id
    world.clock.advance(24 * 3600)

    anew = await world.submits(MAIL)

    assert anew.proposal_id != late
    assert (anew.state, anew.reason) == ("sentinel_approved", None)
    assert (await world.proposal(late or "")).state is State.REJECTED


async def test_a_mail_is_drafted_at_once_and_sent_when_the_window_closes(world: World) -> None:
    await auto_approving(world)
    answer = await world.submits(MAIL)

    assert world.tool("send-email").verbs() == ["execute"]
    await world.passes(minutes=14, seconds=59)
    assert world.tool("send-email").verbs() == ["execute"]
    await world.passes(seconds=1)

    mail = await world.proposal(answer.proposal_id or "")
    assert world.tool("send-email").verbs() == ["execute", "commit"]
    assert (mail.state, mail.reason) == (State.COMPLETED, "window_closed_unopposed")
    assert str(mail.decided_by) == "clock clock"


async def test_a_cross_within_the_window_takes_the_mail_back(world: World) -> None:
    await auto_approving(world)
    answer = await world.submits(MAIL)
    await world.passes(minutes=14)

    reply = await world.rejects("ana", answer.proposal_id or "", "wrong amount")

    mail = await world.proposal(answer.proposal_id or "")
    assert reply.done
    assert world.tool("send-email").verbs() == ["execute", "roll_back"]
    assert (mail.state, mail.reason) == (State.ROLLED_BACK, "rolled_back_by_person")
    assert mail.explanation == "wrong amount"
    await world.passes(minutes=2)
    assert world.tool("send-email").verbs() == ["execute", "roll_back"]


@pytest.mark.parametrize("reason", UNSEEN)
async def test_a_stop_with_a_reason_of_which_nobody_sees_a_word_tells_who_stopped_it(
    world: World, reason: str
) -> None:
    waiting = (await world.submits(MAIL)).proposal_id or ""
    await world.rejects("ben", waiting, reason)
    assert (await world.proposal(waiting)).explanation == "Rejected by ben."

    await auto_approving(world)
    begun = (await world.submits(MAIL, parameters=MAIL["parameters"] | {"body": "B"})).proposal_id
    await world.rejects("ben", begun or "", reason)
    assert (await world.proposal(begun or "")).explanation == "Rolled back by ben."


async def test_a_person_may_end_a_window_that_the_orchestrator_opened(world: World) -> None:
    await auto_approving(world)
    answer = await world.submits(MAIL)

    await world.approves("ana", answer.proposal_id or "")

    mail = await world.proposal(answer.proposal_id or "")
    assert (mail.state, mail.reason) == (State.COMPLETED, "approved_early")
    assert world.tool("send-email").verbs() == ["execute", "commit"]


async def test_a_window_that_a_person_opened_closes_by_time(world: World) -> None:
    answer = await world.submits(MAIL)
    await world.approves("ana", answer.proposal_id or "")

    reply = await world.approves("ben", answer.proposal_id or "")

    assert reply.code == "already_decided"
    assert (await world.proposal(answer.proposal_id or "")).state is State.EXECUTING


async def test_nothing_is_executed_while_the_card_is_undelivered(world: World) -> None:
    await auto_approving(world)
    world.notifier.names = ("terminal",)
    deliver = world.notifier.deliver

    async def nothing(*_: object, **__: object) -> int:
        return 0

    world.notifier.deliver = nothing  # type: ignore[method-assign]
    answer = await world.submits(MAIL)
    await world.keeps_house()
    assert world.tool("send-email").calls == []
    assert (await world.proposal(answer.proposal_id or "")).waiting_for == "its card"

    world.notifier.deliver = deliver  # type: ignore[method-assign]
    await world.keeps_house()

    assert world.tool("send-email").verbs() == ["execute"]


async def test_a_commit_that_failed_calls_a_person_and_can_be_tried_again(world: World) -> None:
    from lifecycle.ports import ToolFailed

    await auto_approving(world)
    tool = world.tool("send-email")
    tool.on["commit"] = raising(ToolFailed("the server refused"))
    answer = await world.submits(MAIL)
    await world.passes(minutes=15)
    failed = await world.proposal(answer.proposal_id or "")
    assert (failed.state, failed.attention) == (State.EXECUTING, Attention.COMMIT_FAILED)
    assert "the server refused. Nothing was carried out yet" in failed.attention_why
    await world.passes(minutes=15)
    assert tool.verbs() == ["execute", "commit"]

    tool.on["commit"] = answering({})
    reply = await world.workflow.retry(answer.proposal_id or "", world.sender("ana"))
    await world.workflow.idle()

    sent = await world.proposal(answer.proposal_id or "")
    assert reply.done
    assert (sent.state, sent.reason) == (State.COMPLETED, "window_closed_unopposed")
    assert [call.idempotency_key for call in tool.calls[1:]] == ["p1:commit:1", "p1:commit:2"]


async def test_while_a_commit_has_failed_it_can_still_be_rolled_back(world: World) -> None:
    from lifecycle.ports import ToolFailed

    await auto_approving(world)
    tool = world.tool("send-email")
    tool.on["commit"] = raising(ToolFailed("the server refused"))
    answer = await world.submits(MAIL)
    await world.passes(minutes=15)

    await world.rejects("ana", answer.proposal_id or "")

    assert tool.verbs() == ["execute", "commit", "roll_back"]
    assert (await world.proposal(answer.proposal_id or "")).state is State.ROLLED_BACK


async def test_the_orchestrator_never_opens_its_own_proposal(world: World) -> None:
    await auto_approving(world)

    answer = await world.submits(MAIL, by="nour")

    assert (await world.proposal(answer.proposal_id or "")).state is State.SENTINEL_APPROVED


async def test_a_quorum_set_by_the_proposal_needs_people(world: World) -> None:
    await auto_approving(world)
    answer = await world.submits(MAIL, approval_class="dual")
    assert (await world.proposal(answer.proposal_id or "")).state is State.SENTINEL_APPROVED

    await world.approves("ana", answer.proposal_id or "")
    assert world.tool("send-email").calls == []
    await world.approves("ben", answer.proposal_id or "")

    assert world.tool("send-email").verbs() == ["execute"]


async def test_a_raised_tier_keeps_the_window(world: World) -> None:
    tools = dict(world.workflow.policy.tools)
    assert replace(tools["send-email"]).window_s == 900
    answer = await world.submits(MAIL)
    await world.approves("ana", answer.proposal_id or "")

    mail = await world.proposal(answer.proposal_id or "")
    assert mail.execution is not None
    opens, closes = mail.execution.window_opens_at_ms, mail.execution.window_closes_at_ms
    assert (closes or 0) - (opens or 0) == 900_000
