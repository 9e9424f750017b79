"""Somebody writes into what a tool is handed back, into why it is called, and how often."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lifecycle.policy import Level, RuleSettings
from lifecycle.ports import ToolFailed
from lifecycle.proposal import Attention
from lifecycle.state import State
from tests.builders import MAIL, PROD, a_policy
from tests.fakes.tools import answering, raising, waiting_for
from tests.stage import staged
from tests.stories.forging import DATABASE, problems
from tests.world import World

DEPLOY, SEND = "production-deploy", "send-email"
MINE = {"stage": "mine"}


@pytest.fixture
def world(on_disk: World) -> World:
    """A bot whose database somebody can reach."""
    return on_disk


async def in_its_window(world: World) -> str:
    """Return the id of a mail whose tool has answered."""
    world.tool(SEND).on["execute"] = answering(MINE)
    proposal_id = (await world.submits(MAIL)).proposal_id or ""
    await world.approves("ana", proposal_id)
    return proposal_id


#: What somebody makes of what a roll back is handed.
HANDED_BACK = {
    "another's receipt": "'$.execution.receipt.stage', 'other'",
    "parts that stand nowhere": "'$.execution.still_stands', json_array('other')",
}


@pytest.mark.parametrize("change", HANDED_BACK.values(), ids=HANDED_BACK)
async def test_a_cross_holds_and_takes_nothing_back_with_what_the_trail_does_not_tell(
    world: World, forged: Any, change: str
) -> None:
    proposal_id = await in_its_window(world)
    forged(f"UPDATE proposals SET rest = json_set(rest, {change})")

    assert (await world.rejects("ben", proposal_id)).done
    await world.passes(minutes=16)

    stuck = await world.proposal(proposal_id)
    assert world.tool(SEND).verbs() == ["execute"]
    assert (stuck.state, stuck.attention) == (State.EXECUTING, Attention.ROLLBACK_INCOMPLETE)
    assert "Somebody changed the database." in stuck.attention_why
    await world.workflow.retry(proposal_id, world.sender("ana"))
    await world.workflow.idle()
    assert world.tool(SEND).verbs() == ["execute"]
    assert len(await problems(world)) == 1
    await world.workflow.settle(proposal_id, world.sender("ana"), happened=True)
    ended = await world.proposal(proposal_id)
    assert (ended.state, ended.reason) == (State.ROLLED_BACK, "rolled_back_by_person")


async def test_a_roll_back_is_tried_again_with_what_its_tool_left_alone(
    world: World, forged: Any
) -> None:
    proposal_id = await in_its_window(world)
    world.tool(SEND).on["roll_back"] = answering({"still_stands": ["a", "b"]})
    await world.rejects("ben", proposal_id)
    assert await problems(world) == []
    ben = world.sender("ben")
    await world.workflow.settle(proposal_id, ben, happened=False)
    forged("UPDATE proposals SET rest = json_set(rest, '$.execution.still_stands[0]', 'other')")
    said = f"proposal {proposal_id}: what still stands of it is not what the trail tells"
    assert await problems(world) == [said]

    await world.workflow.retry(proposal_id, ben)
    await world.workflow.idle()

    assert world.tool(SEND).verbs() == ["execute", "roll_back"]
    assert await problems(world) == [said]
    forged("UPDATE proposals SET rest = json_set(rest, '$.execution.still_stands[0]', 'a')")
    world.tool(SEND).on["roll_back"] = answering({"still_stands": []})
    await world.workflow.retry(proposal_id, ben)
    await world.workflow.idle()
    handed = world.tool(SEND).calls[-1].receipt
    assert handed == MINE | {"still_stands": ["a", "b"]}
    assert (await world.proposal(proposal_id)).state is State.ROLLED_BACK
    assert await problems(world) == []


CUT_OFF = {
    "it was called less often": "'$.execution.tries', 1",
    "nothing is in doubt": "'$.execution.doubted', json('false')",
    "it began long ago": "'$.execution.began_at_ms', 1",
}


@pytest.mark.parametrize("change", CUT_OFF.values(), ids=CUT_OFF)
async def test_a_call_is_not_made_again_as_if_it_had_not_been_made(
    tmp_path: Path, forged: Any, change: str
) -> None:
    tools = dict(a_policy().tools)
    tools[DEPLOY] = replace(tools[DEPLOY], idempotent=True)
    async with staged(DATABASE, tmp_path, a_policy(tools=tools)) as world:
        world.tool(DEPLOY).on["execute"] = waiting_for(asyncio.Event(), {})
        proposal_id = (await world.submits(PROD)).proposal_id or ""
        await world.workflow.approve(proposal_id, world.sender("ana"))
        await dies(world)
        assert len(world.tool(DEPLOY).calls) == 2
        assert await problems(world) == []
        forged(f"UPDATE proposals SET rest = json_set(rest, {change})")
        assert len(await problems(world)) == 1

        await dies(world)

        stuck = await world.proposal(proposal_id)
        assert len(world.tool(DEPLOY).calls) == 2
        assert stuck.attention is Attention.OUTCOME_UNKNOWN


async def dies(world: World) -> None:
    """Cut the bot off while its tool is at work, start it again and let it recover."""
    for _ in range(20):
        await asyncio.sleep(0)
    law = world.workflow.world
    doomed = [*law.background.tasks]
    for task in doomed:
        task.cancel()
    await asyncio.gather(*doomed, return_exceptions=True)
    fresh = type(world.workflow)(replace(law, held=set()))
    world.workflow = fresh
    await fresh.start()
    await fresh.recover()
    for _ in range(20):
        await asyncio.sleep(0)


async def test_a_mail_is_not_sent_in_the_name_of_somebody_who_did_not_ask_for_it(
    world: World, forged: Any
) -> None:
    proposal_id = await in_its_window(world)
    world.tool(SEND).on["commit"] = raising(ToolFailed("not today"))
    await world.passes(minutes=16)
    assert (await world.proposal(proposal_id)).attention is Attention.COMMIT_FAILED
    assert await problems(world) == []
    cause = "json_object('by', json_object('kind', 'person', 'id', 'ana'), 'puller', 'person',"
    cause += " 'reason', 'approved_early', 'words', 'ana approved.')"
    forged(f"UPDATE proposals SET rest = json_set(rest, '$.execution.cause', {cause})")
    assert len(await problems(world)) == 2  # for whom, and with which words

    reply = await world.workflow.retry(proposal_id, world.sender("ben"))

    assert (reply.done, reply.code) == (False, "digest_mismatch")
    assert world.tool(SEND).verbs() == ["execute", "commit"]


NOBODY = "UPDATE proposals SET rest = json_remove(rest, '$.execution.cause')"


async def test_a_roll_back_is_tried_again_though_somebody_removed_who_asked_for_it(
    world: World, forged: Any
) -> None:
    proposal_id = await in_its_window(world)
    world.tool(SEND).on["roll_back"] = raising(ToolFailed("not today"))
    await world.rejects("ben", proposal_id)
    forged(NOBODY)
    world.tool(SEND).on["roll_back"] = answering({})

    reply = await world.workflow.retry(proposal_id, world.sender("ana"))
    await world.workflow.idle()

    assert reply.words.startswith("roll_back is tried again.")
    assert world.tool(SEND).verbs() == ["execute", "roll_back", "roll_back"]
    assert (await world.proposal(proposal_id)).state is State.ROLLED_BACK


async def test_a_roll_back_that_was_cut_off_is_taken_up_though_nobody_asked_for_it_any_more(
    tmp_path: Path, forged: Any
) -> None:
    tools = dict(a_policy().tools)
    tools[SEND] = replace(tools[SEND], idempotent=True)
    async with staged(DATABASE, tmp_path, a_policy(tools=tools)) as world:
        proposal_id = await in_its_window(world)
        world.tool(SEND).on["roll_back"] = waiting_for(asyncio.Event(), {})
        await world.workflow.reject(proposal_id, world.sender("ben"), "not now")
        forged(NOBODY)

        await dies(world)

        assert world.tool(SEND).verbs() == ["execute", "roll_back", "roll_back"]


async def test_an_end_in_a_name_that_was_written_by_hand_is_named_afterwards(
    world: World, forged: Any
) -> None:
    proposal_id = await in_its_window(world)
    world.tool(SEND).on["roll_back"] = answering({"still_stands": ["a"]})
    await world.rejects("ben", proposal_id)
    forged("UPDATE proposals SET rest = json_set(rest, '$.execution.cause.by.id', 'ana')")
    await world.workflow.settle(proposal_id, world.sender("ben"), happened=True)
    assert str((await world.proposal(proposal_id)).decided_by) == "person ana"

    forged("UPDATE proposals SET rest = json_set(rest, '$.execution.cause.by.id', 'ben')")

    said = await problems(world)
    assert any("ends it for person ana (rolled_back_by_person), which was" in each for each in said)


async def test_a_policy_that_did_not_judge_it_lets_no_mail_out(world: World, forged: Any) -> None:
    proposal_id = await in_its_window(world)
    rules = dict(world.workflow.policy.rules)
    rules["prohibited_content"] = RuleSettings(Level.HARD, {"phrases": ["invoice"]})
    # As if it had been judged under the policy that is adopted next.
    forged(f"UPDATE proposals SET checked_policy_digest = 'pol1_{1:064d}'")
    assert any("its last check's policy is" in words for words in await problems(world))
    await world.adopts(rules=rules)

    await world.passes(minutes=16)

    assert world.tool(SEND).verbs() == ["execute"]
    assert (await world.proposal(proposal_id)).attention is Attention.OUTCOME_UNKNOWN


async def test_a_window_that_never_closes_is_named(world: World, forged: Any) -> None:
    await in_its_window(world)
    forged("UPDATE proposals SET retry_at_ms = 9999999999999")

    [said] = await problems(world)
    assert "its window is not closed before 2286" in said
