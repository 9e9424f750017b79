"""What an agent tries with a BLOCK tool leaves a trace that can be read, and fills no disk."""

from __future__ import annotations

import pytest

from lifecycle.admitting import enrolling
from tests.builders import MAIL
from tests.stories.forging import problems
from tests.world import World


@pytest.mark.parametrize("by", ["this version", "an older one"])
@pytest.mark.parametrize(
    ("begins_ms", "ends_ms"),
    [(-5, 2**53 - 1), (1 - 2**53, 1 - 2**53), (2**53 - 1, 2**53 - 1), (1, 2)],
)
async def test_a_blocked_proposal_can_be_read_whatever_times_it_names(
    on_disk: World, begins_ms: int, ends_ms: int, by: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody asks whether they can be meant, and one such row was a fault of the trail for ever."""
    if by == "an older one":  # it stored them, and told them, as they stood in the document
        monkeypatch.setattr(enrolling, "on_calendar", int)
    window = {"valid_from_ms": begins_ms, "valid_until_ms": ends_ms, "max_duration_ms": 1}
    blocked = {"tool": "financial-transfer", "action_type": "transact", "time_window": window}

    answer = await on_disk.submits(MAIL, proposal_id="t1", **blocked)

    assert (answer.reason, answer.state) == ("tool_blocked", "rejected")
    kept = (await on_disk.proposal("t1")).read().time_window
    assert kept is not None
    assert kept.valid_from_ms == begins_ms
    assert await problems(on_disk) == []


async def test_beyond_sixty_a_minute_a_blocked_proposal_leaves_an_entry_and_no_row(
    world: World,
) -> None:
    """An agent filled the disk with them: no rate holds up what is answered before authority."""
    blocked = {"tool": "financial-transfer", "action_type": "transact"}
    answers = [
        await world.submits(MAIL, proposal_id=f"t{each}", **blocked) for each in range(60 + 5)
    ]

    assert {answer.reason for answer in answers} == {"tool_blocked"}
    assert [answer.proposal_id for answer in answers[59:61]] == ["t59", None]
    assert {answer.outcome.value for answer in answers} == {"deny"}
    refused = await world.audit("refused")
    assert [each["reason"] for each in refused] == ["tool_blocked"] * 5
    told = await world.store.read(lambda tx: tx.outbox.waiting("terminal", 2**62, 1000))
    floods = [each for each in told if "leila proposes more than it may" in str(each.body)]
    assert len(floods) == 1

    await world.passes(minutes=1)
    later = await world.submits(MAIL, proposal_id="later", **blocked)
    assert (later.proposal_id, later.state) == ("later", "rejected")
