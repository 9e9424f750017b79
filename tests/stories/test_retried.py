"""Who has something called again stands in the trail, and nobody else in that one's place."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from lifecycle.ports import ToolDoubtful
from tests.builders import MAIL, PROD
from tests.fakes.tools import raising
from tests.stories.test_doubt import dies_while
from tests.world import World

DEPLOY, SEND = "production-deploy", "send-email"


async def named(world: World, kind: str) -> list[tuple[str, str | None, Mapping[str, Any]]]:
    """Return who the entries of a kind name, on which surface, with which details."""
    entries = await world.audit(kind)
    return [(each["actor"]["id"], each["surface"], each["details"]) for each in entries]


@pytest.mark.parametrize("verb", ["execute", "commit", "roll_back"])
async def test_a_retry_is_told_in_the_name_of_who_asked_for_it(world: World, verb: str) -> None:
    world.tool(SEND).on[verb] = raising(ToolDoubtful("cut off"))
    mail = (await world.submits(MAIL)).proposal_id or ""
    await world.approves("ana", mail)
    if verb == "roll_back":
        await world.rejects("ana", mail)
    if verb == "commit":
        await world.passes(minutes=16)

    await world.workflow.retry(mail, world.sender("ben", event_id="m17"))
    await world.workflow.idle()

    [(person, surface, details)] = await named(world, "retried")
    assert (person, surface, details) == ("ben", "terminal", {"verb": verb, "attempt": 2})
    [entry] = await world.audit("retried")
    assert entry["event_id"] == "m17"
    assert [name for name, _, _ in await named(world, "called_again")] == [
        {"execute": "ben", "commit": "clock", "roll_back": "ana"}[verb]
    ]


async def test_what_is_called_again_after_a_crash_is_nobodys_retry(world: World) -> None:
    await dies_while(world, DEPLOY, PROD)
    del world.tool(DEPLOY).on["execute"]  # which hung: now it answers

    await world.restarts()

    assert [name for name, _, _ in await named(world, "called_again")] == ["clock"]
    assert await named(world, "retried") == []
