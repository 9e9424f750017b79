"""Taking back: once, by whoever was first, whatever else happens at that moment."""

from __future__ import annotations

import asyncio

import pytest

from lifecycle.ports import ToolFailed
from lifecycle.proposal import Attention
from lifecycle.state import State
from tests.builders import MAIL
from tests.cases.cards import a_card, fact
from tests.fakes.tools import answering, raising, waiting_for
from tests.world import World


async def test_two_crosses_roll_back_once(world: World, mail: str) -> None:
    gate = asyncio.Event()
    world.tool("send-email").on["roll_back"] = waiting_for(gate)
    crosses = asyncio.gather(
        world.workflow.reject(mail, world.sender("ana"), "no"),
        world.workflow.reject(mail, world.sender("ben"), "no"),
    )
    replies = await crosses
    gate.set()
    await world.workflow.idle()

    assert sorted(reply.done for reply in replies) == [False, True]
    assert world.tool("send-email").verbs() == ["execute", "roll_back"]
    assert (await world.proposal(mail)).state is State.ROLLED_BACK


async def test_a_cross_during_the_run_is_kept_and_carried_out(world: World) -> None:
    gate = asyncio.Event()
    world.tool("send-email").on["execute"] = waiting_for(gate)
    proposal_id = (await world.submits(MAIL)).proposal_id or ""
    await world.workflow.approve(proposal_id, world.sender("ben"))

    reply = await world.workflow.reject(proposal_id, world.sender("ana"), "wrong amount")
    assert world.tool("send-email").verbs() == ["execute"]
    gate.set()
    await world.workflow.idle()

    taken = await world.proposal(proposal_id)
    assert reply.done
    assert world.tool("send-email").verbs() == ["execute", "roll_back"]
    assert (taken.state, taken.explanation) == (State.ROLLED_BACK, "wrong amount")
    assert str(taken.decided_by) == "person ana"


async def test_while_the_commit_runs_it_is_too_late(world: World, mail: str) -> None:
    gate = asyncio.Event()
    world.tool("send-email").on["commit"] = waiting_for(gate)
    world.clock.advance(900)
    await world.workflow.close_due()

    reply = await world.workflow.reject(mail, world.sender("ana"), "no")
    gate.set()
    await world.workflow.idle()

    assert reply.code == "window_closed"
    assert world.tool("send-email").verbs() == ["execute", "commit"]


async def test_a_window_is_open_until_its_closing_is_claimed(world: World, mail: str) -> None:
    world.clock.advance(1000)

    reply = await world.rejects("ana", mail)

    assert reply.done
    assert world.tool("send-email").verbs() == ["execute", "roll_back"]


async def test_closing_and_cross_together_have_one_outcome(world: World, mail: str) -> None:
    world.clock.advance(900)
    await asyncio.gather(
        world.workflow.close_due(), world.workflow.reject(mail, world.sender("ana"), "no")
    )
    await world.workflow.idle()

    verbs = world.tool("send-email").verbs()
    ended = (await world.proposal(mail)).state
    assert (verbs[1:], ended) in [
        (["commit"], State.COMPLETED),
        (["roll_back"], State.ROLLED_BACK),
    ]


async def test_nobody_is_told_of_a_roll_back_in_part_where_nothing_was_taken_back(
    world: World, mail: str
) -> None:
    world.tool("send-email").on["roll_back"] = raising(ToolFailed("no way"))
    await world.rejects("ana", mail)

    reply = await world.rejects("ben", mail)
    assert reply.words == (
        f"{mail} is not taken back, or only in part. A reviewer can: retry {mail}, or where that "
        f"was done by hand: settle {mail} happened"
    )


async def test_what_still_stands_is_retried_alone(world: World, mail: str) -> None:
    tool = world.tool("send-email")
    tool.on["roll_back"] = answering({"still_stands": ["copy-2"]})
    await world.rejects("ana", mail)
    partial = await world.proposal(mail)
    assert (partial.state, partial.attention) == (State.EXECUTING, Attention.ROLLBACK_INCOMPLETE)
    await world.passes(minutes=30)
    assert tool.verbs() == ["execute", "roll_back"]

    tool.on["roll_back"] = answering({})
    await world.workflow.retry(mail, world.sender("ben"))
    await world.workflow.idle()

    assert tool.calls[-1].receipt == {"still_stands": ["copy-2"]}
    assert (await world.proposal(mail)).reason == "rolled_back_by_person"


async def test_a_person_reads_what_still_stands_wherever_they_are_called(
    world: World, mail: str
) -> None:
    """Else nobody knows what to take back by hand, and settles as happened what was not."""
    tool = world.tool("send-email")
    tool.on["roll_back"] = answering({"still_stands": ["the mail to pat", {"copy": 2}]})
    await world.rejects("ana", mail)
    told = "What stands: (1) the mail to pat; (2) {"

    partial = await world.proposal(mail)
    assert told in partial.attention_why
    assert told in fact(a_card(partial), "⚠️ Needs a person")
    assert told in (await world.audit("attention"))[-1]["details"]["why"]
    tool.on["roll_back"] = raising(ToolFailed("gone"))
    await world.workflow.retry(mail, world.sender("ben"))
    await world.workflow.idle()

    assert told in (await world.proposal(mail)).attention_why


async def test_what_still_stands_is_told_masked_and_within_bounds(world: World, mail: str) -> None:
    key = "ghp_" + "a1B2" * 9
    parts = [f"one\n{key}", "x" * 5_000, *map(str, range(900))]
    world.tool("send-email").on["roll_back"] = answering({"still_stands": parts})
    await world.rejects("ana", mail)

    why = (await world.proposal(mail)).attention_why
    assert key not in why
    assert "(1) one ‹" in why
    assert "; and 897 more (all in show --json)." in why
    assert len(why) < 1_000


async def test_a_roll_back_that_failed_calls_a_person(world: World, mail: str) -> None:
    world.tool("send-email").on["roll_back"] = raising(ToolFailed("gone"))
    await world.rejects("ana", mail)

    assert (await world.proposal(mail)).attention is Attention.ROLLBACK_INCOMPLETE


async def test_the_owner_of_the_agent_may_stop_but_cal_may_not(world: World, mail: str) -> None:
    refused = await world.rejects("cal", mail)
    stopped = await world.rejects("olga", mail)

    assert refused.code == "not_a_reviewer"
    assert stopped.done


async def test_the_orchestrator_never_rolls_back(world: World, mail: str) -> None:
    reply = await world.rejects("nour", mail)

    assert reply.code == "not_a_reviewer"
    assert (await world.proposal(mail)).state is State.EXECUTING


async def test_going_beyond_the_envelope_is_rolled_back_by_sentinel(world: World) -> None:
    envelope = {
        "allowed_side_effects": ["email"],
        "forbidden_effects": [],
        "max_affected_records": 1,
        "reversible_required": True,
    }
    world.tool("send-email").on["execute"] = answering({"affected_records": 2})
    proposal_id = (await world.submits(MAIL, risk_envelope=envelope)).proposal_id or ""
    await world.approves("ana", proposal_id)

    taken = await world.proposal(proposal_id)
    assert (taken.state, taken.reason) == (State.ROLLED_BACK, "rolled_back_by_sentinel")


async def test_the_reason_may_follow_a_bare_cross(world: World) -> None:
    proposal_id = (await world.submits(MAIL, task_id="t1")).proposal_id or ""
    await world.reacts("ana", proposal_id, "❌")
    waiting = await world.store.read(
        lambda tx: tx.outbox.waiting("terminal", world.clock.now_ms(), 10)
    )
    assert [m for m in waiting if m.kind == "ended"] == []

    await world.workflow.give_reason(proposal_id, world.sender("ana"), "wrong customer")

    waiting = await world.store.read(
        lambda tx: tx.outbox.waiting("terminal", world.clock.now_ms(), 10)
    )
    told = [m.body["explanation"] for m in waiting if m.kind == "ended"]
    task = await world.store.read(lambda tx: tx.backlog.get("leila", "t1"))
    assert told == ["wrong customer"]
    assert task is not None
    assert task.explanation == "wrong customer"


async def test_without_a_reason_the_word_goes_out_after_five_minutes(world: World) -> None:
    proposal_id = (await world.submits(MAIL)).proposal_id or ""
    await world.reacts("ana", proposal_id, "❌")
    await world.passes(minutes=5)

    waiting = await world.store.read(
        lambda tx: tx.outbox.waiting("terminal", world.clock.now_ms(), 10)
    )
    assert [m.body["explanation"] for m in waiting if m.kind == "ended"] == ["Rejected by ana."]


async def test_a_stop_counts_although_its_tool_has_left_the_config(world: World, mail: str) -> None:
    tools = dict(world.workflow.policy.tools)
    gone = tools.pop("send-email")
    await world.adopts(tools=tools)

    stopped = await world.rejects("ben", mail)

    assert stopped.done
    stuck = await world.proposal(mail)
    assert (stuck.state, stuck.attention) == (State.EXECUTING, "rollback_incomplete")
    assert world.tool("send-email").verbs() == ["execute"]
    await world.adopts(tools=tools | {"send-email": gone})
    await world.workflow.retry(mail, world.sender("ana"))
    await world.workflow.idle()
    assert (await world.proposal(mail)).reason == "rolled_back_by_person"
    assert world.tool("send-email").verbs() == ["execute", "roll_back"]


@pytest.mark.parametrize(("length", "is_cut"), [(2_000, False), (2_001, True), (9_000, True)])
async def test_a_reason_that_is_too_long_to_be_kept_says_that_its_end_is_missing(
    world: World, mail: str, length: int, is_cut: bool
) -> None:
    await world.rejects("ana", mail, "n" * length)

    said = (await world.proposal(mail)).explanation
    assert len(said) == 2_000
    assert said.endswith("n … (the rest was cut off)") is is_cut


async def test_whoever_settles_what_is_in_no_doubt_is_told_what_helps_instead(
    world: World, mail: str
) -> None:
    world.tool("send-email").on["roll_back"] = raising(ToolFailed("half of it stands"))
    await world.rejects("ben", mail)
    await world.workflow.idle()

    reply = await world.workflow.settle(mail, world.sender("ana"), False)

    assert reply.code == "nothing_to_settle"
    assert f"To try what still stands again: retry {mail}" in reply.words
    assert (await world.proposal(mail)).attention == "rollback_incomplete"
