"""Case M10 in the terminal: whoever ended it, the card and `show` say who, when and why."""

from __future__ import annotations

from typing import Any

import pytest

from tests.builders import MAIL, PROD
from tests.ends import NOUR_OPENS, WRONG, ends_on
from tests.places import AtTerminal
from tests.terminal import a_terminal

ENDS = ends_on("terminal")


async def begins(place: AtTerminal, end: str) -> None:
    """Let leila propose p1, at noon where people decide; what nour opens begins at once."""
    opens = end in ("rolled back by ana", "opened by nour")
    place.clock.advance(180 if opens else 0)
    deploys = end in ("approved by ana", "rejected by ben")
    changes: dict[str, Any] = WRONG if "Sentinel" in end else {}
    await place.terminal.proposes(PROD if deploys else MAIL, proposal_id="p1", **changes)
    place.clock.advance(0 if opens else 180)


async def passes(place: AtTerminal, *, minutes: int) -> None:
    place.clock.advance(minutes * 60)
    for job in (place.workflow.expire_due, place.workflow.close_due):
        await job()
    await place.settles()


async def comes_to(place: AtTerminal, end: str) -> None:
    """Bring p1 to its end."""
    match end:
        case "approved by ana":
            await place.says("ana", "approve p1 looks right")
        case "rejected by ben":
            await place.says("ben", "reject p1 wrong customer")
        case "rolled back by ana":
            await place.says("ana", "roll-back p1 wrong amount")
        case "expired":
            await passes(place, minutes=24 * 60)
        case "opened by nour":
            await passes(place, minutes=15)


@pytest.mark.parametrize("end", ENDS)
async def test_M10_card_and_show_name_who_when_and_why(end: str) -> None:
    opens = end in ("rolled back by ana", "opened by nour")
    place = AtTerminal(a_terminal(NOUR_OPENS if opens else None))
    state, *said = ENDS[end]
    await begins(place, end)
    await comes_to(place, end)
    ended = await place.terminal.world.proposal("p1")
    card = await place.card("p1")
    told = "\n".join(await place.terminal.types("show p1"))
    assert ended.state.value == state
    for words in said:
        assert words in card
        assert words in told
