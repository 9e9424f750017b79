"""Cases B: the same proposal again, in whatever way, is one proposal; another one never is."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from lifecycle.answers import Answer
from lifecycle.state import State
from tests.builders import MAIL, PROD, a_document
from tests.world import World

PARAMETERS = MAIL["parameters"]


async def open_ones(world: World) -> list[str]:
    waiting = await world.store.read(lambda tx: tx.proposals.waiting(0, 100))
    return [proposal.proposal_id for proposal in waiting]


async def submitted(world: World, **changes: Any) -> Answer:
    """Submit without waiting for anything else, as a second connection would."""
    document = a_document(**({"ts_ms": world.clock.now_ms()} | changes))
    return await world.workflow.submit(json.dumps(document).encode(), world.sender("leila"))


async def test_B04_the_same_content_three_times_is_one_proposal_with_one_card(
    world: World,
) -> None:
    first = await submitted(world, proposal_id="p1")
    world.clock.advance(20)
    again = await asyncio.gather(
        submitted(world, proposal_id="p2"), submitted(world, proposal_id="p3")
    )
    await world.shows()

    assert not first.deduplicated
    assert [(a.proposal_id, a.deduplicated) for a in again] == [("p1", True)] * 2
    assert await open_ones(world) == ["p1"]
    assert len(await world.store.read(lambda tx: tx.cards.stale("terminal", 2**62, 10))) == 0
    assert len(await world.store.read(lambda tx: tx.cards.open_on("terminal", 10))) == 1
    assert len(await world.audit("deduplicated")) == 2


async def test_B04_ten_at_the_same_moment_are_one(roomy: World) -> None:
    answers = await asyncio.gather(*(submitted(roomy, proposal_id=f"p{n}") for n in range(10)))

    assert len({answer.proposal_id for answer in answers}) == 1
    assert sum(not answer.deduplicated for answer in answers) == 1
    assert len(await open_ones(roomy)) == 1


async def test_B04_what_differs_outside_the_content_is_named(world: World) -> None:
    await world.submits(MAIL, proposal_id="p1")

    again = await world.submits(MAIL, proposal_id="p2", justification="Now it is really urgent")
    assert (again.deduplicated, tuple(again.differs)) == (True, ("justification",))


@pytest.mark.parametrize(
    "changes",
    [
        {"parameters": PARAMETERS | {"to": "sam@partner.example"}},
        {"parameters": PARAMETERS | {"body": "Hello "}},
        {"target": MAIL["target"] | {"resource_id": "other"}},
    ],
)
async def test_B04_other_content_is_another_proposal(world: World, changes: dict[str, Any]) -> None:
    await world.submits(MAIL)

    other = await world.submits(MAIL, **changes)
    assert not other.deduplicated
    assert len(await open_ones(world)) == 2


async def test_B04_another_agents_same_content_is_its_own(world: World) -> None:
    await world.submits(MAIL)

    assert not (await world.submits(MAIL, by="nour")).deduplicated


async def test_B04_once_the_first_has_ended_the_content_may_come_again(world: World) -> None:
    first = (await world.submits(MAIL)).proposal_id or ""
    await world.workflow.withdraw(first, world.sender("leila"))

    again = await world.submits(MAIL)
    assert (again.deduplicated, again.state) == (False, "sentinel_approved")


@pytest.mark.parametrize(
    "changes",
    [
        {"parameters": PARAMETERS | {"to": "sam@partner.example"}},
        {"parameters": PARAMETERS | {"body": "Hello!"}},
        {"justification": "Another reason of enough length"},
        {"approval_class": "dual"},
        {"task_id": "t1"},
    ],
)
async def test_B05_an_id_stands_for_one_document(world: World, changes: dict[str, Any]) -> None:
    await world.submits(MAIL, proposal_id="p1")
    before = await world.proposal("p1")

    answer = await world.submits(MAIL, proposal_id="p1", **changes)
    assert (answer.reason, answer.state, answer.proposal_id) == ("id_conflict", None, None)
    assert await world.proposal("p1") == before
    assert [entry["reason"] for entry in await world.audit("refused")] == ["id_conflict"]


async def test_B05_an_approval_of_the_first_is_never_handed_to_the_second(world: World) -> None:
    other = {"parameters": PARAMETERS | {"to": "sam@partner.example"}}
    await world.submits(MAIL, proposal_id="p1")
    await world.approves("ana", "p1")

    answer = await world.submits(MAIL, proposal_id="p1", **other)
    await world.passes(minutes=15)
    assert answer.reason == "id_conflict"
    assert {call.parameters["to"] for call in world.tool("send-email").calls} == {
        "pat@partner.example"
    }
    assert (await world.submits(MAIL, proposal_id="p1", **other)).reason == "id_conflict"


async def test_B05_nobody_takes_over_the_id_of_another(world: World) -> None:
    await world.submits(MAIL, proposal_id="p1", by="leila")

    assert (await world.submits(MAIL, proposal_id="p1", by="nour")).reason == "id_conflict"


async def test_B11_only_the_approved_host_runs_whatever_is_sent_under_its_id_later(
    roomy: World,
) -> None:
    other_host = {"target": PROD["target"] | {"domain": "db.shop.example"}}
    await roomy.submits(PROD, proposal_id="p1", approval_class="dual")
    await roomy.approves("ana", "p1")

    for _ in range(2):
        edited = await roomy.submits(PROD, proposal_id="p1", approval_class="dual", **other_host)
        assert edited.reason == "id_conflict"
    await roomy.approves("ben", "p1")
    late = await roomy.submits(PROD, proposal_id="p1", approval_class="dual", **other_host)

    assert late.reason == "id_conflict"
    assert [c.target["domain"] for c in roomy.tool("production-deploy").calls] == [
        "www.shop.example"
    ]


async def test_B11_the_same_document_again_is_the_same_proposal_however_old(world: World) -> None:
    sent_at = world.clock.now_ms()
    await world.submits(PROD, proposal_id="p1")
    await world.approves("ana", "p1")
    await world.passes(minutes=120)

    again = await world.submits(PROD, proposal_id="p1", ts_ms=sent_at)
    assert (again.proposal_id, again.state, again.deduplicated) == ("p1", "completed", True)
    assert (await world.proposal("p1")).state is State.COMPLETED
    assert world.tool("production-deploy").verbs() == ["execute"]


async def test_B04_a_refusal_binds_what_it_was_about_and_nothing_beside_it(world: World) -> None:
    refused = await world.submits(
        MAIL, parameters=PARAMETERS | {"body": "See [it](https://x.test/1)"}
    )
    await world.rejects("ana", refused.proposal_id or "", "no")

    dressed = await world.submits(
        MAIL, parameters=PARAMETERS | {"body": "**See** [it](https://x.test/1)"}
    )
    other = await world.submits(
        MAIL, parameters=PARAMETERS | {"body": "See [it](https://x.test/2)"}
    )

    assert dressed.reason == "previously_rejected"
    assert other.state == "sentinel_approved"


async def test_B04_a_refusal_binds_no_longer_than_the_agent_was_told_to_wait(world: World) -> None:
    await world.rejects("ana", (await world.submits(PROD)).proposal_id or "")
    told = await world.submits(PROD)
    assert (told.reason, told.retry_after_s) == ("previously_rejected", 3600)

    world.clock.advance(3599.999)
    early = await world.submits(PROD)
    world.clock.advance(0.001)
    in_time = await world.submits(PROD)

    assert (early.reason, early.retry_after_s) == ("previously_rejected", 1)
    assert in_time.state == "sentinel_approved"
