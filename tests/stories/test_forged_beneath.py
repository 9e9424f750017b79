"""Somebody lets the database itself forge, or turns a call under way into another one."""

from __future__ import annotations

from typing import Any

import pytest

from lifecycle.proposal import Attention
from lifecycle.state import State
from tests.builders import MAIL, PROD
from tests.fakes.tools import raising
from tests.stories.forging import problems
from tests.world import World

SEND, STAGE = "send-email", "staging-deploy"
TARGET = PROD["target"] | {"domain": "staging.shop.example"}


@pytest.fixture
def world(on_disk: World) -> World:
    """A bot whose database somebody can reach."""
    return on_disk


async def staged(world: World) -> str:
    """Return the id of a deployment that stands in its window."""
    proposal_id = (await world.submits(PROD, tool=STAGE, target=TARGET)).proposal_id or ""
    await world.approves("ana", proposal_id)
    return proposal_id


@pytest.mark.parametrize("how", ["SELECT RAISE(IGNORE)", "SELECT 1"])
async def test_nothing_begins_whose_entry_the_database_swallows(
    world: World, forged: Any, how: str
) -> None:
    proposal_id = (await world.submits(PROD)).proposal_id or ""
    when = "BEFORE" if "IGNORE" in how else "AFTER"
    act = how if "IGNORE" in how else "DELETE FROM audit WHERE seq = NEW.seq"
    forged(f"CREATE TRIGGER swallows {when} INSERT ON audit BEGIN {act}; END")

    reply = await world.approves("ana", proposal_id)

    assert (reply.done, reply.code) == (False, "audit_unavailable")
    assert world.tool("production-deploy").verbs() == []
    assert [words for words in await problems(world) if "the trigger swallows" in words]


async def test_a_view_in_the_place_of_a_table_is_named(world: World, forged: Any) -> None:
    forged("ALTER TABLE events RENAME TO elsewhere")
    forged("CREATE VIEW events AS SELECT * FROM elsewhere")
    forged("CREATE VIEW our_report AS SELECT state FROM proposals")

    [said] = await problems(world)
    assert "the view events" in said


async def test_another_tool_takes_nothing_back(world: World, forged: Any) -> None:
    proposal_id = await staged(world)
    forged(f"UPDATE proposals SET tool = '{SEND}'")

    await world.rejects("ben", proposal_id)

    assert world.tool(SEND).verbs() == []
    assert (await world.proposal(proposal_id)).attention is Attention.ROLLBACK_INCOMPLETE


async def test_a_mail_that_was_only_staged_is_not_told_as_sent(world: World, forged: Any) -> None:
    proposal_id = (await world.submits(MAIL)).proposal_id or ""
    await world.approves("ana", proposal_id)
    forged("UPDATE proposals SET rest = json_set(rest, '$.execution.deferred', json('false'))")

    await world.passes(minutes=16)

    stuck = await world.proposal(proposal_id)
    assert (stuck.state, stuck.attention) == (State.EXECUTING, Attention.OUTCOME_UNKNOWN)


@pytest.mark.parametrize(
    "change", ["kept_stop = NULL", "window_closes_at_ms = NULL", "verb = 'commit'"]
)
async def test_no_word_of_a_person_passes_over_a_cross_that_waits(
    world: World, forged: Any, change: str
) -> None:
    world.tool(STAGE).on["execute"] = raising(RuntimeError("cut off"))
    proposal_id = await staged(world)
    await world.rejects("ben", proposal_id)
    forged(f"UPDATE proposals SET {change}")

    reply = await world.workflow.settle(proposal_id, world.sender("ana"), happened=True)
    await world.passes(minutes=16)

    assert (reply.done, reply.code) == (False, "digest_mismatch")
    assert (await world.proposal(proposal_id)).state is State.EXECUTING

    assert reply.words.endswith(f"back by hand, then: settle {proposal_id} did-not-happen")
    await world.workflow.settle(proposal_id, world.sender("ana"), happened=False)
    await world.workflow.idle()
    ended = await world.proposal(proposal_id)
    assert (ended.state, ended.attention) == (State.ROLLED_BACK, None)


async def test_a_value_that_nothing_can_be_reckoned_with_holds_up_no_other_row(
    world: World, forged: Any
) -> None:
    for number in (1, 2):
        target = MAIL["target"] | {"resource_id": f"of-{number}"}
        await world.submits(MAIL, proposal_id=f"p{number}", target=target)
        world.clock.advance(61)
    forged("UPDATE proposals SET digest = X'00ff' WHERE proposal_id = 'p1'")

    await world.passes(minutes=25 * 60)

    assert (await world.proposal("p2")).reason == "expired"


async def test_nothing_follows_an_entry_that_nobody_wrote(world: World, forged: Any) -> None:
    proposal_id = (await world.submits(PROD)).proposal_id or ""
    forged("UPDATE audit SET seq = 9223372036854775807 WHERE seq = (SELECT max(seq) FROM audit)")

    reply = await world.approves("ana", proposal_id)

    assert (reply.done, reply.code) == (False, "audit_unavailable")
    assert world.tool("production-deploy").verbs() == []


@pytest.mark.parametrize("change", ["reason = X'00ff'", "at_ms = 'noon'"])
async def test_a_review_that_nobody_can_read_counts_for_nothing(
    world: World, forged: Any, change: str
) -> None:
    proposal_id = (await world.submits(PROD, approval_class="dual")).proposal_id or ""
    await world.approves("ana", proposal_id)
    forged(f"UPDATE reviews SET {change}")

    reply = await world.approves("ben", proposal_id)

    assert not reply.done
    assert world.tool("production-deploy").verbs() == []
