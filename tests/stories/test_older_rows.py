"""What older versions left in rows and told of less: nobody changed it, and nobody is alarmed."""

from __future__ import annotations

from typing import Any

import pytest

from lifecycle.state import State
from tests.stories.forging import problems
from tests.stories.permits import begun_after, permitted
from tests.world import World

#: An entry that tells nothing of the permit, and a row in which one waits to this day.
AS_IT_WAS = (
    "UPDATE audit SET details = '{}' WHERE kind = 'permit_handed_over'",
    "UPDATE proposals SET permit_waits = 1",
)


@pytest.mark.parametrize("begins", [True, False])
async def test_a_permit_that_seems_to_wait_after_its_use_or_its_end_is_no_false_alarm(
    on_disk: World, forged: Any, begins: bool
) -> None:
    proposal_id = await permitted(on_disk)
    if begins:
        await begun_after(on_disk)
    else:
        await on_disk.rejects("ana", proposal_id)
    state = State.EXECUTING if begins else State.REJECTED

    for change in AS_IT_WAS:
        forged(change)

    row = await on_disk.proposal(proposal_id)
    assert (row.state, row.permit_waits) == (state, True)
    # The link is broken by this; of the row nothing is said.
    assert all(words.startswith("entry ") for words in await problems(on_disk))


async def test_a_permit_that_seems_to_wait_although_it_was_used_up_is_named(
    on_disk: World, forged: Any
) -> None:
    await permitted(on_disk)
    await begun_after(on_disk)

    forged(AS_IT_WAS[1])

    assert any("permit's redemption" in words for words in await problems(on_disk))
