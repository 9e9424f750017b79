"""Somebody writes into the database that a proposal may begin: nothing begins."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lifecycle.canonical import s256
from lifecycle.clockwork.restored import bring_back
from lifecycle.policy import Level
from lifecycle.state import State
from tests.builders import MAIL, NOW_MS, PROD, REFUND, a_policy
from tests.stage import staged
from tests.stories.forging import DATABASE, exchanged, opened_by, problems, refused
from tests.stories.permits import permitted, the_permit
from tests.world import World

DEPLOY = "production-deploy"


@pytest.fixture
def world(on_disk: World) -> World:
    """A bot whose database somebody can reach."""
    return on_disk


@pytest.mark.parametrize(
    "by",
    [
        ("person", "ben", "person"),
        ("sentinel", "sentinel", "sentinel"),
        ("agent", "nour", "orchestrator"),
        ("person", "ben", "orchestrator"),
    ],
)
async def test_nobody_opens_by_hand_what_nobody_approved(
    world: World, forged: Any, by: tuple[str, str, str]
) -> None:
    proposal_id = (await world.submits(PROD)).proposal_id or ""
    forged(opened_by(*by))
    assert len(await problems(world)) >= 1

    await refused(world, proposal_id, DEPLOY)


async def test_nor_with_one_approval_of_two(world: World, forged: Any) -> None:
    proposal_id = (await world.submits(PROD, approval_class="dual")).proposal_id or ""
    await world.approves("ana", proposal_id)
    forged(opened_by("person", "ana", "person"))

    assert f"proposal {proposal_id}: its row lets person ana open it with 1 of 2 approvals" in (
        await problems(world)
    )
    await refused(world, proposal_id, DEPLOY)


async def test_nor_by_making_an_automatic_one_of_what_people_must_look_at(
    tmp_path: Path, forged: Any
) -> None:
    rules = dict(a_policy().rules)
    rules["prohibited_content"] = replace(rules["prohibited_content"], level=Level.SOFT)
    async with staged(DATABASE, tmp_path, a_policy(rules=rules)) as world:
        parameters = {"query": "final warning"}
        asked = await world.submits(
            {**MAIL, "tool": "search", "action_type": "read"}, parameters=parameters
        )
        proposal_id = asked.proposal_id or ""
        assert (await world.proposal(proposal_id)).opener is None
        lowered = "'$.quorum', 0, '$.quorum_needs_people', json('false')"
        forged(opened_by("sentinel", "sentinel", "sentinel", lowered) + ", tier = 'AUTO'")
        assert f"proposal {proposal_id}: its tier is AUTO, the trail says CONFIRM" in (
            await problems(world)
        )

        await refused(world, proposal_id, "search")


async def test_what_somebody_stopped_is_not_revived(world: World, forged: Any) -> None:
    await world.workflow.freeze("incident 7", world.sender("ana"))
    proposal_id = (await world.submits(PROD)).proposal_id or ""
    await world.approves("ana", proposal_id)
    await world.rejects("ben", proposal_id)
    forged(
        "UPDATE proposals SET state = 'pending', verdict = NULL, reason = NULL, decided_by = NULL,"
        " decided_by_kind = NULL, decided_at_ms = NULL"
    )
    await world.workflow.thaw(world.sender("ana"))

    await refused(world, proposal_id, DEPLOY)
    assert any("moves it from pending, where it was rejected" in p for p in await problems(world))


async def test_what_was_done_is_not_done_again(world: World, forged: Any) -> None:
    proposal_id = (await world.submits(PROD)).proposal_id or ""
    await world.approves("ana", proposal_id)
    revived = "state = 'sentinel_approved', decided_at_ms = NULL, deadline_ms = deadline_ms + 1"
    forged(f"{opened_by('person', 'ana', 'person')}, {revived}")
    assert any("its state is sentinel_approved" in words for words in await problems(world))

    await world.passes(seconds=10)

    assert world.tool(DEPLOY).verbs() == ["execute"]
    assert any("it was completed" in words for words in await problems(world))


async def test_nothing_begins_before_the_time_its_document_names(world: World, forged: Any) -> None:
    times = {"valid_from_ms": NOW_MS + 600_000, "valid_until_ms": NOW_MS + 900_000}
    window = times | {"max_duration_ms": 20_000}
    proposal_id = (await world.submits(PROD, time_window=window)).proposal_id or ""
    await world.approves("ana", proposal_id)
    forged("UPDATE proposals SET rest = json_remove(rest, '$.valid_from_ms', '$.waiting_for')")
    assert any("it may begin at None" in words for words in await problems(world))

    await refused(world, proposal_id, DEPLOY)


async def test_a_permit_of_what_is_approved_no_more_redeems_nothing(
    world: World, forged: Any
) -> None:
    proposal_id = (await world.submits(REFUND)).proposal_id or ""
    await world.approves("ana", proposal_id)
    token = await the_permit(world)
    await world.workflow.take_back(proposal_id, world.sender("ana"))
    forged("UPDATE permits SET consumed_at_ms = NULL")
    forged(opened_by("person", "ana", "person") + ", permit_waits = 1")

    reply = await world.workflow.redeem(token, REFUND["parameters"], world.sender("leila"))

    assert (reply.done, reply.code) == (False, "digest_mismatch")
    assert (await world.proposal(proposal_id)).state is State.REJECTED


async def test_a_permit_redeems_nothing_once_the_r3_document_it_names_was_exchanged(
    world: World, forged: Any
) -> None:
    proposal_id = await permitted(world)
    shown = (await world.proposal(proposal_id)).r3_document
    other = shown.replace(b"wants to use", b"does not use")
    assert other != shown
    forged(f"UPDATE proposals SET r3_document = X'{other.hex()}', r3_s256 = '{s256(other)}'")
    token = await the_permit(world)

    reply = await world.workflow.redeem(token, REFUND["parameters"], world.sender("leila"))

    assert (reply.done, reply.code) == (False, "digest_mismatch")
    await refused(world, proposal_id, "issue-refund")


async def test_an_approval_that_is_void_and_made_valid_by_hand_opens_nothing(
    world: World, forged: Any
) -> None:
    proposal_id = (await world.submits(PROD, approval_class="dual")).proposal_id or ""
    await world.approves("ana", proposal_id)
    people = dict(world.workflow.policy.people)
    people["zoe"] = replace(people["ben"], id="zoe", accounts={})
    await world.adopts(people=people)
    assert await problems(world) == []
    forged("UPDATE reviews SET void_why = NULL")
    await world.approves("ben", proposal_id)

    said = await problems(world)
    assert any("the approval by ana counts, although it is void since" in words for words in said)
    await refused(world, proposal_id, DEPLOY)


async def test_an_approval_that_is_put_there_by_hand_opens_nothing(
    world: World, forged: Any
) -> None:
    proposal_id = (await world.submits(PROD, approval_class="dual")).proposal_id or ""
    columns = "proposal_id, person, decision, reason, at_ms, surface, found_late"
    forged(
        f"INSERT INTO reviews ({columns}) VALUES"
        f" ('{proposal_id}', 'ana', 'approve', '', {NOW_MS}, 'terminal', 0)"
    )
    await world.approves("ben", proposal_id)

    said = await problems(world)
    assert any("1 approvals by ana are kept, the trail tells of 0" in words for words in said)
    await refused(world, proposal_id, DEPLOY)


async def test_what_was_approved_is_not_exchanged_for_another_document_with_digests_to_match(
    world: World, forged: Any
) -> None:
    await world.workflow.freeze("incident 7", world.sender("ana"))
    proposal_id = (await world.submits(PROD)).proposal_id or ""
    await world.approves("ana", proposal_id)
    forged(exchanged(await world.proposal(proposal_id), b"v42", b"v43"))
    await world.workflow.thaw(world.sender("ana"))

    await refused(world, proposal_id, DEPLOY)


async def test_what_was_done_is_not_done_again_although_the_row_shows_no_trace_of_it(
    world: World, forged: Any
) -> None:
    await world.workflow.freeze("incident 7", world.sender("ana"))
    proposal_id = (await world.submits(PROD)).proposal_id or ""
    await world.approves("ana", proposal_id)
    names = [row[1] for row in forged("PRAGMA table_info(proposals)")]
    forged("CREATE TABLE before AS SELECT * FROM proposals")
    await world.workflow.thaw(world.sender("ana"))
    await world.passes(seconds=10)
    assert world.tool(DEPLOY).verbs() == ["execute"]

    columns = ", ".join(names)
    forged(f"UPDATE proposals SET ({columns}) = (SELECT {columns} FROM before)")
    await world.passes(seconds=10)

    assert world.tool(DEPLOY).verbs() == ["execute"]
    ended = await world.proposal(proposal_id)
    assert ended.reason == "digest_mismatch"
    assert "othing was run" not in ended.explanation


async def test_of_a_forged_row_in_a_copy_nobody_says_that_it_was_not_run(
    world: World, forged: Any
) -> None:
    proposal_id = (await world.submits(PROD)).proposal_id or ""
    moment = world.workflow.world.moment()
    await world.store.write(lambda tx: bring_back(tx, moment, "copy.db"))
    await world.restarts()
    assert (await world.workflow.thaw(world.sender("ana"))).done
    forged("UPDATE proposals SET document = X'7b7d'")

    await world.reacts("ana", proposal_id, "✅")
    await world.passes(seconds=10)

    ended = await world.proposal(proposal_id)
    assert ended.reason == "digest_mismatch"
    assert "Whether it was run is not known" in ended.explanation


async def test_an_approval_is_taken_back_whatever_quorum_somebody_wrote(
    world: World, forged: Any
) -> None:
    """It raised, so that the approval stood."""
    await world.workflow.freeze("incident 7", world.sender("ana"))
    proposal_id = (await world.submits(PROD)).proposal_id or ""
    await world.approves("ana", proposal_id)
    forged("UPDATE proposals SET rest = json_set(rest, '$.quorum', 0)")

    assert (await world.workflow.take_back(proposal_id, world.sender("ana"))).done

    assert (await world.proposal(proposal_id)).opener is None
    await world.workflow.thaw(world.sender("ana"))
    await world.passes(seconds=10)
    assert world.tool(DEPLOY).verbs() == []


@pytest.mark.parametrize("spoiled", [False, True])
async def test_what_somebody_wrote_to_be_blocked_before_its_verdict_is_ended(
    world: World, forged: Any, spoiled: bool
) -> None:
    """Nobody could end it, no person and no deadline, and each round wrote a line into the log."""
    proposal_id = (await world.submits(PROD)).proposal_id or ""
    other = ", document = X'7b'" if spoiled else ""
    forged(f"UPDATE proposals SET state = 'pending', verdict = NULL, tier = 'BLOCK'{other}")

    await refused(world, proposal_id, DEPLOY)
