"""An agent that corrects itself is heard: what it says was done reaches people."""

from __future__ import annotations

import httpx
import pytest

from lifecycle.agreeing.rows import disagreements
from lifecycle.ports import StoreUnavailable
from lifecycle.proposal import Attention
from tests.bot.intake.conftest import Outside, code_of, submitted
from tests.builders import REFUND
from tests.roads import trail_of
from tests.world import World

DONE = {"outcome": "done", "receipt": {"refund": "r-9"}}
FAILED = {"outcome": "failed"}


async def begun(outside: Outside, leila: httpx.AsyncClient) -> None:
    answer = await submitted(leila, REFUND)
    parameters = REFUND["parameters"]
    assert answer.status_code == 202
    await outside.world.shows()
    await outside.world.approves("ana", "p1")
    permit = (await leila.get("/v1/proposals/p1")).json()["permit"]
    call = {"permit": permit, "parameters": parameters}
    assert (await leila.post("/v1/proposals/p1/redeem", json=call)).status_code == 200


async def told(world: World) -> list[str]:
    found = await world.store.read(lambda tx: tx.outbox.waiting("terminal", 2**61, 100))
    return [str(each.body["text"]) for each in found if each.key.startswith("contradicted:")]


async def reports(leila: httpx.AsyncClient, receipt: object) -> tuple[int, str | None]:
    return code_of(await leila.post("/v1/proposals/p1/receipt", json=receipt))


async def agrees(world: World) -> bool:
    proposal = await world.proposal("p1")
    trail, reviews = await world.store.read(lambda tx: (trail_of(tx, "p1"), tx.reviews.of("p1")))
    return disagreements(proposal, trail, reviews) == []


async def test_a_report_before_the_redemption_may_come_again_after_it(
    outside: Outside, leila: httpx.AsyncClient
) -> None:
    await submitted(leila, REFUND)
    early = await leila.post("/v1/proposals/p1/receipt", json=DONE)

    assert code_of(early) == (409, "nothing_to_settle")
    assert early.json()["retry"] == "after_change"


@pytest.mark.parametrize("late", [False, True])
async def test_done_after_a_persons_word_is_told_whatever_came_late(
    outside: Outside, leila: httpx.AsyncClient, late: bool
) -> None:
    await begun(outside, leila)
    await outside.world.passes(minutes=90)
    if late:
        assert await reports(leila, FAILED) == (409, "already_decided")
    await outside.world.workflow.settle("p1", outside.world.sender("ana"), happened=False)

    assert await reports(leila, DONE) == (409, "already_decided")
    assert await reports(leila, DONE) == (409, "permit_already_consumed")

    (words,) = await told(outside.world)
    assert "settled as: did not happen" in words
    assert await agrees(outside.world)


async def test_done_after_a_failure_reported_in_time_is_told(
    outside: Outside, leila: httpx.AsyncClient
) -> None:
    await begun(outside, leila)
    assert await reports(leila, FAILED) == (200, None)

    assert await reports(leila, DONE) == (409, "already_decided")
    assert await reports(leila, DONE) == (409, "permit_already_consumed")

    (words,) = await told(outside.world)
    assert "reported as failed" in words
    (entry,) = await outside.world.audit("late_receipt")
    assert entry["details"]["result"]["value"] == {"refund": "r-9"}
    assert (await outside.world.proposal("p1")).reason == "tool_failed"
    assert await agrees(outside.world)


@pytest.mark.parametrize("first", [FAILED, DONE])
async def test_a_person_who_settles_sees_both_words_of_an_agent(
    outside: Outside, leila: httpx.AsyncClient, first: dict[str, object]
) -> None:
    second = DONE if first is FAILED else FAILED
    await begun(outside, leila)
    await outside.world.passes(minutes=90)

    for receipt in (first, second):
        assert await reports(leila, receipt) == (409, "already_decided")
        assert await reports(leila, receipt) == (409, "permit_already_consumed")

    found = await outside.world.proposal("p1")
    assert found.attention is Attention.OUTCOME_UNKNOWN
    assert "reported later: failed." in found.attention_why
    assert "reported later: done." in found.attention_why
    assert found.execution is not None
    assert found.execution.receipt == {"refund": "r-9"}
    assert await agrees(outside.world)
    settled = await outside.world.workflow.settle("p1", outside.world.sender("ana"), happened=True)
    assert settled.code is None
    assert await agrees(outside.world)


@pytest.mark.parametrize("receipt", [DONE, FAILED])
async def test_who_reports_while_nothing_can_be_written_is_told_to_report_it_again(
    outside: Outside, leila: httpx.AsyncClient, receipt: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They were told that nothing begins, where they had begun already."""
    await begun(outside, leila)

    async def full(_unit: object) -> object:
        raise StoreUnavailable("the disk is full")

    with monkeypatch.context() as patch:
        patch.setattr(outside.world.store, "write", full)
        answer = await leila.post("/v1/proposals/p1/receipt", json=receipt)
    assert code_of(answer) == (503, "audit_unavailable")
    assert "report it again" in answer.json()["detail"]
    assert (await reports(leila, receipt))[0] == 200
