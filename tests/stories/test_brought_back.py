"""A copy is brought back: nothing that may have been done since is done again by itself."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from bot.trail import verified_in
from lifecycle.answers import CardPlace
from lifecycle.clockwork.restored import bring_back
from lifecycle.ports import ToolFailed
from lifecycle.proposal import Attention
from lifecycle.state import State
from lifecycle.tier import Tier
from tests.builders import MAIL, PROD, REFUND
from tests.fakes.tools import raising, waiting_for
from tests.stories.permits import permitted, the_permit
from tests.stories.unrecorded import SEARCH
from tests.world import World


async def brought_back(world: World) -> int:
    """Let the store be a copy that was brought back, and the bot start over it."""
    moment = world.workflow.world.moment()
    count = await world.store.write(lambda tx: bring_back(tx, moment, "copy.db"))
    await world.restarts()
    return count


async def thawed(world: World) -> None:
    assert (await world.workflow.thaw(world.sender("ana"))).done
    await world.passes(minutes=20)


async def test_a_mail_in_its_window_is_not_sent_again(world: World) -> None:
    mail = (await world.submits(MAIL)).proposal_id or ""
    await world.approves("ana", mail)

    assert await brought_back(world) == 1
    await thawed(world)

    doubtful = await world.proposal(mail)
    assert world.tool("send-email").verbs() == ["execute"]
    assert (doubtful.state, doubtful.attention) == (State.EXECUTING, Attention.OUTCOME_UNKNOWN)
    assert f"{mail}:commit:1" in doubtful.attention_why
    assert "brought back from a copy" in doubtful.attention_why


@pytest.mark.parametrize("happened", [True, False])
async def test_a_person_says_whether_a_mail_was_sent_since(world: World, happened: bool) -> None:
    mail = (await world.submits(MAIL)).proposal_id or ""
    await world.approves("ana", mail)
    await brought_back(world)
    await thawed(world)

    reply = await world.workflow.settle(mail, world.sender("ana"), happened)

    settled = await world.proposal(mail)
    assert reply.done
    assert world.tool("send-email").verbs() == ["execute"]
    if happened:
        assert (settled.state, settled.reason) == (State.COMPLETED, "window_closed_unopposed")
    else:
        assert settled.attention == Attention.COMMIT_FAILED
        await world.rejects("ana", mail, "not any more")
        assert world.tool("send-email").verbs() == ["execute", "roll_back"]


async def test_a_mail_that_was_not_sent_since_is_sent_when_its_window_closes(world: World) -> None:
    mail = (await world.submits(MAIL)).proposal_id or ""
    await world.approves("ana", mail)
    await brought_back(world)
    await world.workflow.thaw(world.sender("ana"))

    retried = await world.workflow.retry(mail, world.sender("ana"))
    assert (retried.done, retried.code) == (False, "still_running")
    assert "nothing is committed before that closes" in retried.words
    await world.workflow.settle(mail, world.sender("ana"), happened=False)
    await world.passes(minutes=13)
    assert world.tool("send-email").verbs() == ["execute"]
    await world.passes(minutes=3)

    assert world.tool("send-email").verbs() == ["execute", "commit"]
    sent = await world.proposal(mail)
    assert (sent.state, sent.reason) == (State.COMPLETED, "window_closed_unopposed")
    assert (await verified_in(world.store, None, lambda _: None)).problems == []


async def test_a_mail_whose_window_has_passed_meanwhile_waits_for_a_person_to_retry(
    world: World,
) -> None:
    mail = (await world.submits(MAIL)).proposal_id or ""
    await world.approves("ana", mail)
    await brought_back(world)
    await thawed(world)

    await world.workflow.settle(mail, world.sender("ana"), happened=False)
    assert (await world.proposal(mail)).attention == Attention.COMMIT_FAILED
    await world.workflow.retry(mail, world.sender("ben"))
    await world.workflow.idle()

    assert world.tool("send-email").verbs() == ["execute", "commit"]
    assert (await verified_in(world.store, None, lambda _: None)).problems == []


async def test_what_was_under_way_in_the_copy_is_not_called_again(world: World) -> None:
    gate = asyncio.Event()
    world.tool("production-deploy").on["execute"] = waiting_for(gate, {})
    deployment = (await world.submits(PROD)).proposal_id or ""
    await world.workflow.approve(deployment, world.sender("ana"))
    for task in list(world.workflow.world.background.tasks):
        task.cancel()

    await brought_back(world)
    await thawed(world)

    doubtful = await world.proposal(deployment)
    assert world.tool("production-deploy").verbs() == ["execute"]
    assert (doubtful.state, doubtful.attention) == (State.EXECUTING, Attention.OUTCOME_UNKNOWN)


async def test_an_approval_in_the_copy_opens_nothing_and_a_new_one_does(world: World) -> None:
    await world.workflow.freeze("incident 7", world.sender("ana"))
    deployment = (await world.submits(PROD)).proposal_id or ""
    await world.approves("ana", deployment)
    assert (await world.proposal(deployment)).opener is not None

    await brought_back(world)
    await thawed(world)
    assert (await world.proposal(deployment)).opener is None
    place = CardPlace("terminal", f"m-{deployment}")
    standing = await world.workflow.approve(
        deployment, world.sender("ana"), card=place, found_late=True
    )
    assert (standing.done, standing.code) == (False, "stale_card")
    assert world.tool("production-deploy").verbs() == []

    await world.reacts("ana", deployment, "✅")
    assert world.tool("production-deploy").verbs() == ["execute"]


async def test_a_cross_that_is_found_counts_all_the_same(world: World) -> None:
    deployment = (await world.submits(PROD)).proposal_id or ""
    await brought_back(world)

    reply = await world.workflow.reject(deployment, world.sender("ana"), "no", found_late=True)

    assert reply.done
    assert (await world.proposal(deployment)).state is State.REJECTED


async def test_what_nobody_has_to_approve_ends_and_says_why(world: World) -> None:
    await world.workflow.freeze("incident 7", world.sender("ana"))
    search = {**MAIL, "tool": "search", "action_type": "read"}
    proposal_id = (await world.submits(search, parameters={"query": "refunds"})).proposal_id or ""
    assert (await world.proposal(proposal_id)).opener is not None

    await brought_back(world)
    await thawed(world)

    ended = await world.proposal(proposal_id)
    assert world.tool("search").verbs() == []
    assert (ended.state, ended.reason) == (State.REJECTED, "policy_changed")
    assert "Whether it was run is not known" in ended.explanation
    assert "Nothing was run" not in ended.explanation


async def test_a_permit_of_the_copy_redeems_nothing(world: World) -> None:
    refund = await permitted(world)
    token = await the_permit(world)

    await brought_back(world)
    await thawed(world)
    reply = await world.workflow.redeem(token, REFUND["parameters"], world.sender("leila"))

    assert not reply.done
    assert (await world.proposal(refund)).state is State.SENTINEL_APPROVED


async def test_what_is_proposed_afterwards_lives_as_ever(world: World) -> None:
    await brought_back(world)
    await thawed(world)
    mail = (await world.submits(MAIL)).proposal_id or ""

    place = CardPlace("terminal", f"m-{mail}")
    await world.workflow.approve(mail, world.sender("ana"), card=place, found_late=True)
    await world.workflow.idle()
    await world.passes(minutes=16)

    assert (await world.proposal(mail)).state is State.COMPLETED
    assert world.tool("send-email").verbs() == ["execute", "commit"]


async def test_rows_and_trail_of_a_copy_agree(world: World) -> None:
    await permitted(world)
    mail = (await world.submits(MAIL)).proposal_id or ""
    await world.approves("ana", mail)
    await world.submits(PROD)
    await brought_back(world)

    verified = await verified_in(world.store, None, lambda _: None)

    assert (verified.problems, verified.proposals) == ([], 3)


async def test_nobody_is_told_that_nothing_was_run_where_a_deadline_passes(world: World) -> None:
    deployment = (await world.submits(PROD, task_id="t1")).proposal_id or ""
    await brought_back(world)
    await world.passes(minutes=60 * 24 * 30)

    ended = await world.proposal(deployment)
    task = await world.store.read(lambda tx: tx.backlog.get("leila", "t1"))
    assert (ended.state, ended.reason) == (State.REJECTED, "expired")
    assert "Whether it was run is not known" in ended.explanation
    assert task is None or task.state != "backlog"


async def test_nobody_is_told_that_nothing_was_run_where_a_person_refuses_it(world: World) -> None:
    here = (await world.submits(MAIL)).proposal_id or ""
    assert (await world.rejects("ana", here)).words.endswith("Nothing was run.")
    copied = (await world.submits(PROD)).proposal_id or ""
    await brought_back(world)

    reply = await world.rejects("ana", copied)
    assert reply.done
    assert "othing was run" not in reply.words
    assert "Whether it was run is not known" in reply.words


async def test_where_a_person_refuses_it_the_task_goes_back(world: World) -> None:
    deployment = (await world.submits(PROD, task_id="t1")).proposal_id or ""
    await brought_back(world)
    await world.rejects("ana", deployment)

    task = await world.store.read(lambda tx: tx.backlog.get("leila", "t1"))
    assert task is not None
    assert (task.state, task.reason) == ("backlog", "rejected_by_person")


@pytest.mark.parametrize("tier", [Tier.AUTO, Tier.AUTO_PLUS])
async def test_no_policy_lets_begin_by_itself_what_stood_in_a_copy(
    world: World, tier: Tier
) -> None:
    tools = dict(world.workflow.policy.tools)
    search = tools["search"]
    await world.adopts(tools=tools | {search.name: replace(search, tier=Tier.CONFIRM)})
    proposal_id = (await world.submits(SEARCH)).proposal_id or ""
    await brought_back(world)
    await world.adopts(tools=tools | {search.name: replace(search, tier=tier)})
    await thawed(world)

    waits = await world.proposal(proposal_id)
    assert world.tool("search").verbs() == []
    assert (waits.state, waits.tier, waits.opener) == (State.SENTINEL_APPROVED, Tier.CONFIRM, None)
    await world.reacts("ana", proposal_id, "✅")
    assert world.tool("search").verbs() == ["execute"]


async def test_a_standing_check_mark_of_the_orchestrator_opens_nothing_of_a_copy(
    world: World,
) -> None:
    await world.adopts(orchestrator="nour")
    mail = (await world.submits(MAIL)).proposal_id or ""
    await brought_back(world)
    await thawed(world)

    place = CardPlace("terminal", f"m-{mail}")
    standing = await world.workflow.approve(mail, world.sender("nour"), card=place, found_late=True)
    await world.workflow.idle()

    assert (standing.done, standing.code) == (False, "stale_card")
    assert world.tool("send-email").verbs() == []


async def test_no_orchestrator_opens_what_stood_in_a_copy(world: World) -> None:
    mail = (await world.submits(MAIL)).proposal_id or ""
    await brought_back(world)
    await world.adopts(orchestrator="nour", auto_approval_tiers=frozenset({Tier.PROPOSE}))
    await thawed(world)

    assert world.tool("send-email").verbs() == []
    assert (await world.proposal(mail)).opener is None


async def test_what_had_failed_in_a_copy_may_have_been_tried_again_since(world: World) -> None:
    world.tool("send-email").on["commit"] = raising(ToolFailed("the mail server is away"))
    mail = (await world.submits(MAIL)).proposal_id or ""
    await world.approves("ana", mail)
    await world.passes(minutes=16)
    assert (await world.proposal(mail)).attention is Attention.COMMIT_FAILED

    await brought_back(world)

    doubtful = await world.proposal(mail)
    assert doubtful.attention is Attention.OUTCOME_UNKNOWN
    assert "Nothing was carried out" not in doubtful.attention_why
