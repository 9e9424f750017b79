"""Cases K03, K04, K06 and K08 to K10: what runs when, and what is told of it."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from bot.tools.toolbox import ConfiguredToolbox
from lifecycle.ports import ToolFailed
from lifecycle.proposal import Attention
from lifecycle.state import State
from lifecycle.tier import Tier
from tests.builders import MAIL, PROD, a_document
from tests.fakes.tools import raising, waiting_for
from tests.stage import staged
from tests.world import World

DEPLOY = "production-deploy"


def mails(folder: Path, name: str) -> list[Path]:
    """Return the mails in a folder of the data folder, whatever its shape."""
    found = (folder / "data" / name).rglob("*")
    return [path for path in found if path.is_file()]


@pytest.mark.parametrize("crossed", [False, True])
async def test_K03_a_mail_is_a_draft_until_the_window_closes(tmp_path: Path, crossed: bool) -> None:
    async with staged("sqlite:///signoff.db", tmp_path) as world:
        tools = {"send-email": world.workflow.policy.tools["send-email"]}
        world.workflow.world.toolbox = ConfiguredToolbox(tools, tmp_path, {}, world.clock.now_ms)
        await world.adopts(orchestrator="nour", auto_approval_tiers=frozenset({Tier.PROPOSE}))
        await world.submits(MAIL, proposal_id="p1")
        for _ in range(14):
            await world.passes(minutes=1)
            assert len(mails(tmp_path, "drafts")) == 1
            assert mails(tmp_path, "outbox") == []
        if crossed:
            await world.rejects("ana", "p1")
            assert mails(tmp_path, "drafts") == []
        await world.passes(seconds=59)
        assert mails(tmp_path, "outbox") == []

        await world.passes(seconds=1)
        await world.passes(minutes=60)

        sent = mails(tmp_path, "outbox")
        assert len(sent) == (0 if crossed else 1)
        assert all(b"pat@partner.example" in path.read_bytes() for path in sent)
        ended = (await world.proposal("p1")).state
        assert ended is (State.ROLLED_BACK if crossed else State.COMPLETED)


async def hangs(world: World, proposal_id: str) -> None:
    """Approve a deploy whose tool does not answer within its limit."""
    world.tool(DEPLOY).on["execute"] = waiting_for(asyncio.Event())
    now_ms = world.clock.now_ms()
    limits = {"valid_from_ms": now_ms, "valid_until_ms": now_ms + 600_000, "max_duration_ms": 10}
    target = PROD["target"] | {"resource_id": f"www-{proposal_id}"}
    await world.submits(PROD, proposal_id=proposal_id, target=target, time_window=limits)
    await world.approves("ana", proposal_id)
    assert (await world.proposal(proposal_id)).attention is Attention.OUTCOME_UNKNOWN


async def test_K04_without_a_recorded_approval_nothing_calls_the_tool(world: World) -> None:
    await world.submits(PROD, proposal_id="p1")
    await hangs(world, "p0")
    for hour in range(24):
        await world.passes(minutes=59)
        await world.restarts()
        leaving = asyncio.create_task(world.workflow.open_ready())
        await asyncio.sleep(0)
        leaving.cancel()
        await asyncio.gather(leaving, return_exceptions=True)
        world.notifier.readable = hour % 2 == 0
        await world.workflow.gatekeeper.open("p1")
        await world.reacts("cal", "p1", "✅")
        await world.approves("leila", "p1")
        await world.adopts()
    await world.passes(minutes=60)

    assert [call.proposal_id for call in world.tool(DEPLOY).calls] == ["p0"]
    assert (await world.proposal("p1")).reason == "expired"


async def test_K06_a_tool_that_left_nothing_behind_is_rolled_back(world: World) -> None:
    world.tool(DEPLOY).on["execute"] = raising(ToolFailed("the host refused"))
    await world.submits(PROD, proposal_id="p1", task_id="t1")
    await world.approves("ana", "p1")

    ended = await world.proposal("p1")
    assert (ended.state, ended.reason) == (State.ROLLED_BACK, "tool_failed")
    assert "the host refused" in ended.explanation
    task = await world.store.read(lambda tx: tx.backlog.get("leila", "t1"))
    assert task is not None
    assert task.state == "backlog"


@pytest.mark.parametrize("error", [RuntimeError("boom"), OSError("reset"), TimeoutError()])
async def test_K06_a_tool_that_raises_anything_else_is_unknown(
    world: World, error: Exception
) -> None:
    world.tool(DEPLOY).on["execute"] = raising(error)
    await world.submits(PROD, proposal_id="p1")
    await world.approves("ana", "p1")

    stuck = await world.proposal("p1")
    assert (stuck.state, stuck.attention) == (State.EXECUTING, Attention.OUTCOME_UNKNOWN)


async def test_K06_a_tool_that_hangs_past_its_limit_is_unknown_and_listed_first(
    roomy: World,
) -> None:
    await roomy.submits(MAIL, proposal_id="p0")
    await roomy.approves("ana", "p0")
    await hangs(roomy, "p1")

    listed = await roomy.store.read(lambda tx: tx.proposals.executing(0, 10))
    assert [p.proposal_id for p in listed] == ["p1", "p0"]
    assert listed[0].attention is Attention.OUTCOME_UNKNOWN
    told = await roomy.store.read(lambda tx: tx.outbox.waiting("terminal", 2**62, 100))
    assert len([m for m in told if "needs a person: outcome_unknown" in str(m.body)]) == 1


async def test_K06_a_card_that_cannot_be_edited_is_edited_later(world: World) -> None:
    await world.submits(PROD, proposal_id="p1")
    deliver = world.notifier.deliver

    async def fails(*_: object, **__: object) -> int:
        return 0

    world.notifier.deliver = fails  # type: ignore[method-assign]
    await world.approves("ana", "p1")
    done = await world.proposal("p1")
    card = await world.store.read(lambda tx: tx.cards.get("p1", "terminal"))
    assert card is not None
    assert done.state is State.COMPLETED
    assert card.shown_version < card.wanted_version == done.version

    world.notifier.deliver = deliver  # type: ignore[method-assign]
    await world.shows()
    card = await world.store.read(lambda tx: tx.cards.get("p1", "terminal"))
    assert card is not None
    assert card.shown_version == done.version


async def test_K08_after_a_roll_back_no_closing_and_no_approval_has_an_effect(
    world: World,
) -> None:
    await world.adopts(orchestrator="nour", auto_approval_tiers=frozenset({Tier.PROPOSE}))
    await world.submits(MAIL, proposal_id="p1")
    await world.passes(minutes=3)
    await world.rejects("ana", "p1")
    taken = await world.proposal("p1")
    await world.passes(minutes=12)

    late = await world.reacts("ben", "p1", "✅")
    await world.passes(minutes=60)

    assert late.code == "already_decided"
    assert await world.proposal("p1") == taken
    assert world.tool("send-email").verbs() == ["execute", "roll_back"]


async def test_K09_a_refusal_reaches_task_and_agent_without_a_live_session(world: World) -> None:
    await world.submits(MAIL, proposal_id="p1", task_id="t1")
    await world.reacts("ana", "p1", "❌")
    await world.passes(minutes=1)
    await world.restarts()
    assert (await world.workflow.give_reason("p1", world.sender("ana"), "wrong amount")).done

    task = await world.store.read(lambda tx: tx.backlog.get("leila", "t1"))
    told = await world.store.read(lambda tx: tx.outbox.waiting("terminal", 2**62, 100))
    ended = [m for m in told if m.kind == "ended"]
    assert task is not None
    assert (task.state, task.reason, task.explanation) == (
        "backlog",
        "rejected_by_person",
        "wrong amount",
    )
    assert [(m.recipient, m.body["explanation"]) for m in ended] == [("leila", "wrong amount")]
    await world.passes(minutes=10)
    told = await world.store.read(lambda tx: tx.outbox.waiting("terminal", 2**62, 100))
    assert len([m for m in told if m.kind == "ended"]) == 1


async def test_K09_sentinels_refusal_reaches_task_and_agent_with_the_rule(world: World) -> None:
    wrong = MAIL["parameters"] | {"body": "This is your final warning"}
    answer = await world.submits(MAIL, proposal_id="p1", task_id="t1", parameters=wrong)

    task = await world.store.read(lambda tx: tx.backlog.get("leila", "t1"))
    assert answer.reason == "prohibited_content"
    assert task is not None
    assert (task.state, task.reason) == ("backlog", "prohibited_content")
    assert task.explanation == answer.explanation != ""


async def test_K09_sentinels_refusal_is_told_once_where_no_session_waits_for_the_answer(
    world: World,
) -> None:
    wrong = MAIL["parameters"] | {"body": "This is your final warning. " * 500}
    document = a_document(MAIL, proposal_id="p1", task_id="t1", parameters=wrong)
    sending = asyncio.create_task(
        world.workflow.submit(json.dumps(document).encode(), world.sender("leila"))
    )
    await asyncio.sleep(0)
    sending.cancel()
    await asyncio.gather(sending, return_exceptions=True)
    await world.workflow.idle()
    await world.restarts()
    await world.passes(minutes=10)

    ended = await world.proposal("p1")
    task = await world.store.read(lambda tx: tx.backlog.get("leila", "t1"))
    told = await world.store.read(lambda tx: tx.outbox.waiting("terminal", 2**62, 100))
    assert (ended.state, ended.reason) == (State.REJECTED, "prohibited_content")
    assert task is not None
    assert (task.state, task.explanation) == ("backlog", ended.explanation)
    ends = [(m.recipient, m.body["reason"]) for m in told if m.kind == "ended"]
    assert ends == [("leila", "prohibited_content")]


async def test_K10_nothing_is_executed_while_no_surface_shows_it(world: World) -> None:
    await world.adopts(orchestrator="nour", auto_approval_tiers=frozenset({Tier.PROPOSE}))
    deliver = world.notifier.deliver

    async def fails(*_: object, **__: object) -> int:
        return 0

    world.notifier.deliver = fails  # type: ignore[method-assign]
    await world.submits(MAIL, proposal_id="p1")
    await world.submits(PROD, proposal_id="p2")
    await world.approves("ben", "p2")
    for _ in range(5):
        await world.passes(minutes=10)
        await world.restarts()

    waiting = [await world.proposal(each) for each in ("p1", "p2")]
    assert [p.state for p in waiting] == [State.SENTINEL_APPROVED] * 2
    assert [p.waiting_for for p in waiting] == ["its card"] * 2
    assert all(not tool.calls for tool in world.toolbox.tools.values())

    world.notifier.deliver = deliver  # type: ignore[method-assign]
    await world.keeps_house()
    mail = await world.proposal("p1")
    assert mail.execution is not None
    assert mail.execution.window_opens_at_ms == world.clock.now_ms()
    assert (await world.proposal("p2")).state is State.COMPLETED


async def test_K06_the_run_is_not_over_before_the_tool_has_answered(world: World) -> None:
    gate = asyncio.Event()
    world.tool(DEPLOY).on["execute"] = waiting_for(gate)
    await world.submits(PROD, proposal_id="p1")
    reply = await world.workflow.approve("p1", world.sender("ana"))

    assert reply.state == "executing"
    assert (await world.proposal("p1")).state is State.EXECUTING
    gate.set()
    await world.workflow.idle()
    assert (await world.proposal("p1")).state is State.COMPLETED
