"""Cases J14 to J17: what is past its deadline is over, swept or not, and nobody refused it."""

from __future__ import annotations

from typing import Any

import pytest

from bot import views
from lifecycle.answers import Answer
from lifecycle.state import State
from tests.builders import PROD
from tests.world import World

DEPLOY = "production-deploy"


async def proposed(world: World, **changes: Any) -> Answer:
    """PROD with valid_until 12:10; the clock goes on to 12:11, and no sweep runs."""
    now_ms = world.clock.now_ms()
    window = {"valid_from_ms": now_ms, "valid_until_ms": now_ms + 600_000, "max_duration_ms": 1000}
    answer = await world.submits(PROD, proposal_id="p1", time_window=window, **changes)
    world.clock.advance(11 * 60)
    return answer


async def ends(world: World) -> list[dict[str, Any]]:
    told = await world.store.read(lambda tx: tx.outbox.waiting("terminal", 2**62, 100))
    return [dict(m.body) for m in told if m.kind == "ended"]


@pytest.mark.parametrize("how", ["reacts ✅", "approves", "open_ready", "gatekeeper"])
async def test_J14_a_deadline_is_checked_when_somebody_decides(world: World, how: str) -> None:
    await proposed(world)
    match how:
        case "reacts ✅":
            await world.reacts("ana", "p1", "✅")
        case "approves":
            await world.approves("ana", "p1")
        case "open_ready":
            await world.workflow.open_ready()
        case _:
            await world.workflow.gatekeeper.open("p1")
    await world.workflow.expire_due()
    await world.workflow.idle()

    ended = await world.proposal("p1")
    assert (ended.state, ended.reason) == (State.REJECTED, "expired")
    assert world.tool(DEPLOY).calls == []
    assert "reject" in await world.trail("p1")


async def test_J14_an_approval_alone_is_enough_to_see_that_it_is_over(world: World) -> None:
    await proposed(world)
    await world.reacts("ana", "p1", "✅")

    ended = await world.proposal("p1")
    assert (ended.state, ended.reason) == (State.REJECTED, "expired")
    card = await world.store.read(lambda tx: tx.cards.get("p1", "terminal"))
    assert card is not None
    assert card.wanted_version == ended.version


async def test_J14_the_last_moment_before_the_deadline_still_counts(world: World) -> None:
    await proposed(world)
    ended = await world.proposal("p1")
    assert ended.deadline_ms == world.clock.now_ms() - 60_000
    assert not ended.expired(ended.deadline_ms - 1)
    assert ended.expired(ended.deadline_ms)


async def test_J15_the_person_is_told_that_nothing_was_run_and_what_to_do(world: World) -> None:
    await proposed(world)

    reply = await world.reacts("ana", "p1", "✅")

    assert not reply.done
    assert "12:10" in reply.words
    assert "nothing was run" in reply.words.lower()
    assert "submit again, under a new id" in reply.words


@pytest.mark.parametrize("swept", [False, True])
async def test_J15_the_agent_reads_rejected_and_expired(world: World, swept: bool) -> None:
    sent_at = world.clock.now_ms()
    first = await proposed(world)
    assert "will" not in first.explanation
    if swept:
        await world.keeps_house()
    world.clock.advance(60)

    def look(tx: Any) -> dict[str, Any]:
        return views.show(tx, "p1", world.clock.now_ms())

    shown = await world.store.read(look)
    window = {
        "valid_from_ms": sent_at,
        "valid_until_ms": sent_at + 600_000,
        "max_duration_ms": 1000,
    }
    again = await world.submits(PROD, proposal_id="p1", ts_ms=sent_at, time_window=window)

    assert (shown["state"], shown["reason"]) == ("rejected", "expired")
    assert (again.state, again.reason) == ("rejected", "expired")
    assert again.as_json()["retry"] == "after_change"
    assert (await world.submits(PROD, proposal_id="p2")).state == "sentinel_approved"


async def test_J16_a_cross_after_the_deadline_is_a_row_of_its_own_and_no_refusal(
    world: World,
) -> None:
    await proposed(world)

    reply = await world.reacts("ana", "p1", "❌")
    await world.workflow.expire_due()

    ended = await world.proposal("p1")
    assert (ended.state, ended.reason, str(ended.decided_by)) == (
        State.REJECTED,
        "expired",
        "clock clock",
    )
    assert not reply.done
    assert "12:10" in reply.words
    (row,) = await world.audit("ignored")
    assert (row["actor"], row["proposal_id"]) == ({"kind": "person", "id": "ana"}, "p1")
    reviews = await world.store.read(lambda tx: tx.reviews.of("p1"))
    assert [review for review in reviews if review.decision != "approve"] == []
    assert (await world.submits(PROD, proposal_id="p2")).state == "sentinel_approved"


async def test_J16_nobody_answering_is_the_clocks_word_and_no_refusal(world: World) -> None:
    await proposed(world)
    await world.workflow.expire_due()

    ended = await world.proposal("p1")
    assert (ended.reason, str(ended.decided_by)) == ("expired", "clock clock")
    assert (await world.submits(PROD, proposal_id="p2")).state == "sentinel_approved"


async def test_J16_a_refusal_in_time_is_a_refusal(world: World) -> None:
    await world.submits(PROD, proposal_id="p1")
    await world.rejects("ana", "p1", "not on a Monday")

    ended = await world.proposal("p1")
    assert (ended.reason, str(ended.decided_by)) == ("rejected_by_person", "person ana")
    refused = await world.submits(PROD, proposal_id="p2")
    assert (refused.reason, refused.as_json()["retry"]) == ("previously_rejected", "later")
    assert (refused.retry_after_s or 0) > 0


async def test_J17_silence_releases_everything_that_waited(world: World) -> None:
    await proposed(world, task_id="t9")
    await world.workflow.expire_due()
    await world.workflow.expire_due()

    ended = await world.proposal("p1")
    task = await world.store.read(lambda tx: tx.backlog.get("leila", "t9"))
    page = await world.store.read(lambda tx: views.pending_page(tx, world.clock.now_ms()))
    assert ended.reason == "expired"
    assert task is not None
    assert (task.state, task.reason) == ("backlog", "expired")
    assert task.explanation == ended.explanation
    assert [(end["state"], end["reason"]) for end in await ends(world)] == [("rejected", "expired")]
    assert (page.total, page.waiting, page.executing) == (0, (), ())


async def test_J17_before_any_sweep_it_is_on_no_list(world: World) -> None:
    await proposed(world)

    page = await world.store.read(lambda tx: views.pending_page(tx, world.clock.now_ms()))
    assert page.total == 0
