"""Somebody writes over a task or a plan beside its proposal: the trail tells what it was."""

from __future__ import annotations

from typing import Any

import pytest

from tests.builders import MAIL, PROD, a_document
from tests.stories.forging import named, problems
from tests.stories.test_plans import a_derivation, an_envelope, digest, sends
from tests.world import World


@pytest.fixture
def world(on_disk: World) -> World:
    """A bot whose database somebody can reach."""
    return on_disk


#: What somebody makes of the task of a mail that was sent, or refused, and what is said of it.
OF_A_TASK = {
    "DELETE FROM tasks": "its task t1 is gone, entry",
    "UPDATE tasks SET actor = 'nour'": "its task t1 is gone, entry",
    "UPDATE tasks SET task_id = 't2'": "its task t1 is gone, entry",
    "UPDATE tasks SET state = iif(state = 'done', 'backlog', 'done')": "its task t1 does not stand",
    "UPDATE tasks SET reason = 'x'": "its task t1 does not stand as entry",
    "UPDATE tasks SET explanation = 'x'": "its task t1 does not stand as entry",
    "UPDATE tasks SET updated_at_ms = 1": "its task t1 was not settled when the trail tells",
    "UPDATE tasks SET proposal_id = 'x'": "its task t1 stands for x, which did not settle it",
}


@pytest.mark.parametrize("refused", [False, True])
@pytest.mark.parametrize(("change", "said"), OF_A_TASK.items())
async def test_a_task_stands_where_its_proposal_left_it(
    world: World, forged: Any, change: str, said: str, refused: bool
) -> None:
    proposal_id = (await world.submits(PROD, task_id="t1")).proposal_id or ""
    await (
        world.reacts("ana", proposal_id, "❌") if refused else world.approves("ana", proposal_id)
    )
    world.clock.advance(1)
    if refused:
        await world.workflow.give_reason(proposal_id, world.sender("ana"), "not today")
    assert await problems(world) == []

    forged(change)

    assert any(words.startswith(said) for words in await named(world)), await named(world)


async def test_a_task_is_not_done_before_its_proposal_has_ended(world: World, forged: Any) -> None:
    proposal_id = (await world.submits(PROD, task_id="t1")).proposal_id or ""
    columns = "actor, task_id, state, proposal_id, reason, explanation, updated_at_ms"
    forged(
        f"INSERT INTO tasks ({columns}) VALUES ('leila', 't1', 'done', '{proposal_id}', '', '', 1)"
    )

    assert await named(world) == ["its task t1 is done for it, and it has not ended"]


async def test_a_task_that_was_proposed_for_once_more_is_no_alarm(world: World) -> None:
    first = (await world.submits(PROD, task_id="t1")).proposal_id or ""
    await world.workflow.withdraw(first, world.sender("leila"))
    second = (await world.submits(PROD, task_id="t1")).proposal_id or ""
    assert await problems(world) == []
    await world.approves("ana", second)

    assert await problems(world) == []


async def test_what_an_end_of_an_older_version_does_not_tell_of_a_task_is_not_compared(
    world: World, forged: Any
) -> None:
    proposal_id = (await world.submits(PROD, task_id="t1")).proposal_id or ""
    await world.approves("ana", proposal_id)

    forged("UPDATE audit SET details = json_remove(details, '$.task')")
    forged("DELETE FROM tasks")

    # The link is broken by this; of the task nothing is said.
    assert all(words.startswith("entry ") for words in await problems(world))


OF_A_PLAN = {
    "'$.extra.plan.steps[1].claim', 'x'": "the plan that it came from is not the one that the",
    "'$.extra.witness', 'x'": "it came from a plan with the witness x, the trail says w1_",
    "'$.extra', json('{}')": "it came from a plan with the witness None, the trail says w1_",
}


@pytest.mark.parametrize(("change", "said"), OF_A_PLAN.items())
async def test_the_plan_that_a_card_shows_is_the_one_that_was_proposed(
    world: World, forged: Any, change: str, said: str
) -> None:
    deploy = a_document(PROD)
    await sends(world, an_envelope(world, [deploy], a_derivation(digest(deploy))))
    assert await problems(world) == []
    forged(f"UPDATE proposals SET rest = json_set(rest, {change})")

    [words] = await named(world)

    assert words.startswith(said)


async def test_no_plan_is_shown_with_what_came_from_none(world: World, forged: Any) -> None:
    await world.submits(PROD)
    forged("UPDATE proposals SET rest = json_set(rest, '$.extra', json_object('plan', 'lie'))")

    assert await named(world) == ["a plan stands beside it, and no entry tells of one"]


@pytest.mark.parametrize("change", ["explanation = X'00ff'", "updated_at_ms = 'noon'"])
async def test_a_task_that_cannot_be_read_hides_no_other_of_its_proposer(
    world: World, forged: Any, change: str
) -> None:
    for number in (1, 2):
        target = MAIL["target"] | {"resource_id": f"of-{number}"}
        await world.submits(MAIL, proposal_id=f"p{number}", target=target, task_id=f"t{number}")
        await world.rejects("ben", f"p{number}")
    forged(f"UPDATE tasks SET {change} WHERE task_id = 't1'")

    tasks = await world.store.read(lambda tx: tx.backlog.tasks("leila", 9))

    assert [task.task_id for task in tasks] == ["t2"]
    assert await world.store.read(lambda tx: tx.backlog.get("leila", "t1")) is None
    assert any("its task t1" in words for words in await problems(world))
