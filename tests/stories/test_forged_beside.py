"""Somebody writes beside the proposals: permits, rates and what binds evidence are verified too."""

from __future__ import annotations

from typing import Any

import pytest

from lifecycle.clockwork.restored import bring_back
from lifecycle.proposal import Attention
from lifecycle.state import State
from tests.builders import MAIL, PROD, REFUND
from tests.stories.forging import OF_USES, named, problems
from tests.stories.permits import begun, permitted
from tests.stories.resting_on_evidence import CONDITION, SEND
from tests.world import World


@pytest.fixture
def world(on_disk: World) -> World:
    """A bot whose database somebody can reach."""
    return on_disk


#: What somebody makes of a permit that leila holds, and what is said of it.
OF_A_PERMIT = {
    "DELETE FROM permits": "the permit that entry 6 handed over is gone",
    "UPDATE permits SET consumed_at_ms = 1": "the permit that entry 6 handed over was used up or",
    "UPDATE permits SET permit_id = 'x'": "the permit_id of permit x is not that of its token",
    "UPDATE permits SET verb = 'commit'": "the verb of permit",
    "UPDATE permits SET attempt = 2": "the attempt of permit",
    "UPDATE permits SET expires_at_ms = expires_at_ms + 1": "the expires_at_ms of permit",
    "UPDATE permits SET token = 'x'": "the token of permit",
}


@pytest.mark.parametrize(("change", "said"), OF_A_PERMIT.items())
async def test_a_permit_is_the_one_that_was_handed_over(
    world: World, forged: Any, change: str, said: str
) -> None:
    await permitted(world)
    assert await problems(world) == []

    forged(change)

    assert any(words.startswith(said) for words in await named(world)), await named(world)


async def test_a_permit_is_not_another_proposals(world: World, forged: Any) -> None:
    await world.submits(PROD, proposal_id="other")
    await permitted(world)

    forged("UPDATE permits SET proposal_id = 'other'")

    said = await named(world)
    assert any(words.startswith("the proposal_id of permit") for words in said)
    assert any(words.endswith("handed over is gone, or another one") for words in said)


async def test_a_permit_that_was_used_up_or_taken_back_is_not_good_again(
    world: World, forged: Any
) -> None:
    proposal_id = await permitted(world)
    await world.workflow.take_back(proposal_id, world.sender("ana"))
    await world.approves("ben", proposal_id, "checked too")
    assert await problems(world) == []

    forged("UPDATE permits SET consumed_at_ms = NULL")

    [said] = await named(world)
    assert said.startswith("the permit that entry 6 handed over was used up or taken back at None")


async def test_a_permit_of_a_call_of_our_own_is_used_up_with_it(world: World, forged: Any) -> None:
    await world.approves("ana", (await world.submits(PROD)).proposal_id or "")
    assert await problems(world) == []

    for change in ("NULL", "consumed_at_ms + 1"):
        forged(f"UPDATE permits SET consumed_at_ms = {change}")
        [said] = await named(world)
        assert said.endswith("was not used up with the call that it was written for")


async def test_how_long_a_permit_is_awaited_is_named_where_it_was_changed(
    world: World, forged: Any
) -> None:
    await permitted(world)

    forged("UPDATE proposals SET deadline_ms = deadline_ms + 1")

    [said] = await named(world)
    assert said.startswith("its deadline is")


async def test_permits_raise_no_alarm_whatever_becomes_of_them(world: World) -> None:
    await begun(world)
    again = await permitted(world, target=dict(REFUND["target"], resource_id="order-18"))
    await world.adopts(orchestrator="nour")
    assert await problems(world) == []
    await world.rejects("ben", again)
    late = await permitted(world, target=dict(REFUND["target"], resource_id="order-19"))
    await world.passes(minutes=61)

    assert (await world.proposal(late)).reason == "permit_expired"
    assert await problems(world) == []


@pytest.mark.parametrize(
    "change", ["DELETE FROM bindings", "UPDATE bindings SET evidence_id = 'e9'"]
)
async def test_no_mail_is_sent_whose_evidence_was_untied_from_it(
    world: World, forged: Any, change: str
) -> None:
    await world.observes(True)
    proposal_id = (await world.submits(MAIL, preconditions=[CONDITION])).proposal_id or ""
    await world.approves("ana", proposal_id)
    assert await problems(world) == []
    forged(change)
    said = ["its document names evidence e1, and that is not noted for it"]
    assert await named(world) == said

    world.clock.advance(60)
    await world.observes(False)
    await world.passes(minutes=16)

    stuck = await world.proposal(proposal_id)
    assert world.tool(SEND).verbs() == ["execute"]
    assert (stuck.state, stuck.attention) == (State.EXECUTING, Attention.OUTCOME_UNKNOWN)
    assert await named(world) == said
    assert (await world.rejects("ben", proposal_id)).done


@pytest.mark.parametrize("change", OF_USES)
async def test_what_counts_for_a_rate_is_named_where_it_was_changed(
    world: World, forged: Any, change: str
) -> None:
    await world.submits(PROD)
    await world.submits(PROD, target=dict(PROD["target"], resource_id="other"))
    await world.submits({**PROD, "tool": "financial-transfer", "action_type": "transact"})
    assert await problems(world) == []

    forged(change)

    assert await problems(world) == [
        "rate of leila: 2 evaluations of production-deploy that the trail tells of do not count"
    ]


async def test_evaluations_of_the_day_before_may_be_forgotten(world: World, forged: Any) -> None:
    await world.submits(PROD)
    await world.passes(minutes=60 * 25)
    await world.submits(MAIL)

    forged("DELETE FROM uses WHERE tool = 'production-deploy'")

    assert await problems(world) == []


@pytest.mark.parametrize(
    "change",
    [
        "DELETE FROM flags WHERE name = 'restored'",
        "UPDATE flags SET value = json_set(value, '$.seq', 0) WHERE name = 'restored'",
        "UPDATE flags SET value = 'true' WHERE name = 'restored'",
    ],
)
async def test_that_a_copy_was_brought_back_is_not_forgotten(
    world: World, forged: Any, change: str
) -> None:
    await world.submits(PROD)
    moment = world.workflow.world.moment()
    await world.store.write(lambda tx: bring_back(tx, moment, "copy.db"))
    await world.workflow.thaw(world.sender("ana"))
    assert await problems(world) == []

    forged(change)

    [said] = await problems(world)
    assert said.startswith("copy: which one was brought back is not noted as entry")


@pytest.mark.parametrize("change", ["NULL", "9999999999999", "reason_due_ms - 1"])
async def test_the_word_to_a_proposer_waits_as_long_as_for_a_reason(
    world: World, forged: Any, change: str
) -> None:
    proposal_id = (await world.submits(PROD)).proposal_id or ""
    await world.reacts("ben", proposal_id, "❌")
    assert await problems(world) == []
    forged(f"UPDATE proposals SET reason_due_ms = {change}")

    [said] = await named(world)

    assert said.startswith("its wait for a reason is")
