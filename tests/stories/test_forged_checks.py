"""Somebody takes away what bounds how often an agent may ask what evidence says."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.builders import MAIL, a_document
from tests.stories.forging import OF_USES, problems
from tests.world import World

SEARCH = {"tool": "search", "action_type": "read", "parameters": {"query": "terms"}}
ASKED = {"field": "ok", "operator": "eq", "value": True, "evidence_ref": "e1"}


@pytest.fixture
def world(on_disk: World) -> World:
    """A bot whose database somebody can reach."""
    return on_disk


@pytest.mark.parametrize("change", OF_USES)
async def test_a_check_that_counts_no_more_is_named(world: World, forged: Any, change: str) -> None:
    await world.observes(True)
    document = a_document(MAIL, **SEARCH, preconditions=[ASKED])
    for _ in range(2):
        told = await world.workflow.check(json.dumps(document).encode(), world.sender("leila"))
        assert told.reason is None
    assert await problems(world) == []

    forged(change)

    assert await problems(world) == [
        "rate of leila: 2 evaluations of check of search that the trail tells of do not count"
    ]
