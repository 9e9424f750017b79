"""Somebody writes into a row whose call is to be made once more: which tool, how, and when."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lifecycle.agreeing.calls import _about_its_cause
from lifecycle.agreeing.told import APPROVED_EARLY, UNTOLD
from lifecycle.people.settling import too_early
from lifecycle.policy import ActionType, Policy
from lifecycle.ports import ToolDoubtful
from lifecycle.proposal import ActorKind, Attention, Cause, Identity, Verb
from lifecycle.state import State
from lifecycle.tier import Puller, Tier
from tests.builders import MAIL, PROD, a_policy, a_tool
from tests.fakes.tools import answering, raising, waiting_for
from tests.stage import staged
from tests.stories.forging import DATABASE, problems
from tests.stories.test_brought_back import brought_back
from tests.stories.test_forged_calls import NOBODY, dies
from tests.world import World

SEND, STAGING = "send-email", "staging-deploy"


def of_tools(**idempotent: bool) -> Policy:
    """Return a policy with `ship`, which is meant by services, and `other`, which nothing means."""
    ship = a_tool("ship", Tier.CONFIRM, ActionType.EXECUTE, match={"resource_type": "service"})
    tools = a_policy().tools | {
        "ship": ship,
        "other": a_tool("other", Tier.CONFIRM, ActionType.EXECUTE),
    }
    for name, again in idempotent.items():
        tools[name] = replace(tools[name], idempotent=again)
    return a_policy(tools=tools)


#: What a document that names no tool leaves to its row, and the length of the window.
CHANGES = {
    "its tool": "tool = 'other'",
    "its proposer": "actor_kind = 'person'",
    "its window": "rest = json_set(rest, '$.window_s', 1)",
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
async def test_no_retry_calls_what_is_otherwise_than_the_trail_tells(
    tmp_path: Path, forged: Any, change: str
) -> None:
    async with staged(DATABASE, tmp_path, of_tools()) as world:
        world.tool("ship").on["execute"] = raising(ToolDoubtful("no answer"))
        proposal_id = (await world.submits(PROD, tool=None)).proposal_id or ""
        await world.approves("ana", proposal_id)
        assert (await world.proposal(proposal_id)).attention is Attention.OUTCOME_UNKNOWN
        forged(f"UPDATE proposals SET {change}")

        reply = await world.workflow.retry(proposal_id, world.sender("ben"))
        await world.workflow.idle()

        assert (reply.done, reply.code) == (False, "digest_mismatch")
        assert world.tool("ship").verbs() == ["execute"]
        assert world.tool("other").verbs() == []


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
async def test_after_a_crash_nothing_is_called_that_is_otherwise_than_the_trail_tells(
    tmp_path: Path, forged: Any, change: str
) -> None:
    async with staged(DATABASE, tmp_path, of_tools(ship=True, other=True)) as world:
        world.tool("ship").on["execute"] = waiting_for(asyncio.Event())
        proposal_id = (await world.submits(PROD, tool=None)).proposal_id or ""
        await world.workflow.approve(proposal_id, world.sender("ana"))
        forged(f"UPDATE proposals SET {change}")

        await dies(world)

        assert world.tool("ship").verbs() == ["execute"]
        assert world.tool("other").verbs() == []
        assert (await world.proposal(proposal_id)).attention is Attention.OUTCOME_UNKNOWN


async def test_a_mail_is_not_sent_after_a_window_whose_length_somebody_wrote(
    on_disk: World, forged: Any
) -> None:
    """It was called again for a person, and left a second later instead of after 15 minutes."""
    on_disk.tool(SEND).on["execute"] = raising(ToolDoubtful("no answer"))
    proposal_id = (await on_disk.submits(MAIL)).proposal_id or ""
    await on_disk.approves("ana", proposal_id)
    forged("UPDATE proposals SET rest = json_set(rest, '$.window_s', 1)")
    on_disk.tool(SEND).on["execute"] = answering({})

    await on_disk.workflow.retry(proposal_id, on_disk.sender("ben"))
    await on_disk.passes(seconds=5)

    assert on_disk.tool(SEND).verbs() == ["execute"]


@pytest.mark.parametrize(("person", "told"), [("ana", 0), ("ben", 1)])
def test_a_window_ends_early_only_for_somebody_whose_approval_the_trail_tells(
    person: str, told: int
) -> None:
    cause = Cause(Identity(ActorKind.PERSON, person), Puller.PERSON, APPROVED_EARLY, "")

    assert len(list(_about_its_cause(cause, UNTOLD, {"ana"}))) == told


#: What somebody makes of why a commit was due in a copy that was brought back.
CAUSES = {
    "nobody": NOBODY,
    "a ✅": "UPDATE proposals SET rest = json_set(rest, '$.execution.cause.reason', "
    "'approved_early', '$.execution.cause.by', json_object('kind', 'person', 'id', 'ana'), "
    "'$.execution.cause.puller', 'person')",
    "its tool": "UPDATE proposals SET rest = json_set(rest, '$.execution.cause.reason', "
    "'tool_succeeded')",
}


@pytest.mark.parametrize("change", CAUSES.values(), ids=CAUSES)
async def test_whoever_writes_why_a_commit_is_due_ends_no_window(
    on_disk: World, forged: Any, change: str
) -> None:
    proposal_id = (await on_disk.submits(MAIL)).proposal_id or ""
    await on_disk.approves("ana", proposal_id)
    await brought_back(on_disk)
    await on_disk.workflow.thaw(on_disk.sender("ana"))
    assert await problems(on_disk) == []
    forged(change)

    reply = await on_disk.workflow.retry(proposal_id, on_disk.sender("ben"))
    await on_disk.workflow.idle()

    assert not reply.done
    assert on_disk.tool(SEND).verbs() == ["execute"]


async def deployed(world: World) -> str:
    """Return the id of a deployment in its window: its tool has acted at once."""
    target = PROD["target"] | {"domain": "staging.shop.example"}
    proposal_id = (await world.submits(PROD, tool=STAGING, target=target)).proposal_id or ""
    await world.approves("ana", proposal_id)
    return proposal_id


@pytest.mark.parametrize(
    ("was", "becomes"), [("v42", "v41"), ('"www"', '"shop"')], ids=["parameters", "target"]
)
async def test_nothing_is_taken_back_by_a_document_that_nobody_proposed(
    on_disk: World, forged: Any, was: str, becomes: str
) -> None:
    """What acted at once may find by its document what to restore: that of another proposal."""
    proposal_id = await deployed(on_disk)
    forged(f"UPDATE proposals SET document = replace(document, '{was}', '{becomes}')")

    assert (await on_disk.rejects("ben", proposal_id)).done

    stuck = await on_disk.proposal(proposal_id)
    assert on_disk.tool(STAGING).verbs() == ["execute"]
    assert (stuck.state, stuck.attention) == (State.EXECUTING, Attention.ROLLBACK_INCOMPLETE)
    assert "Somebody changed the database." in stuck.attention_why
    forged(f"UPDATE proposals SET document = replace(document, '{becomes}', '{was}')")
    await on_disk.workflow.retry(proposal_id, on_disk.sender("ana"))
    await on_disk.workflow.idle()
    assert on_disk.tool(STAGING).verbs() == ["execute", "roll_back"]
    assert (await on_disk.proposal(proposal_id)).state is State.ROLLED_BACK


async def test_what_acted_at_once_is_not_taken_for_a_stage_because_its_row_says_so(
    on_disk: World, forged: Any
) -> None:
    """A stage is discarded whatever the document says: it was handed one that nobody proposed."""
    proposal_id = await deployed(on_disk)
    forged(
        "UPDATE proposals SET document = replace(document, 'v42', 'v41'), "
        "rest = json_set(rest, '$.execution.deferred', json('true'))"
    )

    assert (await on_disk.rejects("ben", proposal_id)).done

    stuck = await on_disk.proposal(proposal_id)
    assert on_disk.tool(STAGING).verbs() == ["execute"]
    assert (stuck.state, stuck.attention) == (State.EXECUTING, Attention.ROLLBACK_INCOMPLETE)
    forged("UPDATE proposals SET document = replace(document, 'v41', 'v42')")
    await on_disk.workflow.retry(proposal_id, on_disk.sender("ana"))
    await on_disk.workflow.idle()
    assert on_disk.tool(STAGING).verbs() == ["execute", "roll_back"]


async def test_nor_is_it_taken_back_elsewhere_because_its_row_says_so(
    on_disk: World, forged: Any
) -> None:
    """By its new config the tool would take back something else, and it was called."""
    proposal_id = await deployed(on_disk)
    tools = on_disk.workflow.policy.tools
    other = replace(tools[STAGING], settings={"execute": ["deploy", "elsewhere"]})
    await on_disk.adopts(tools=dict(tools) | {STAGING: other})
    forged("UPDATE proposals SET rest = json_set(rest, '$.execution.deferred', json('true'))")

    assert (await on_disk.rejects("ben", proposal_id)).done

    assert on_disk.tool(STAGING).verbs() == ["execute"]
    assert "changed the database" in (await on_disk.proposal(proposal_id)).attention_why


async def test_a_commit_awaits_its_window_unless_somebody_closed_it_or_there_is_none(
    on_disk: World,
) -> None:
    proposal_id = (await on_disk.submits(MAIL)).proposal_id or ""
    await on_disk.approves("ana", proposal_id)
    execution = (await on_disk.proposal(proposal_id)).execution
    assert execution is not None
    ana = Cause(Identity(ActorKind.PERSON, "ana"), Puller.PERSON, APPROVED_EARLY, "")
    commit, moment = replace(execution, verb=Verb.COMMIT), on_disk.workflow.world.moment()

    assert too_early(moment, commit)
    assert not too_early(moment, replace(commit, cause=ana))
    assert not too_early(moment, replace(commit, window_opens_at_ms=None))
