"""A stop that the store could not take, and what makes it hard to keep."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest

from lifecycle.answers import Reply
from lifecycle.ports import StoreUnavailable
from tests.world import World

MAILER = "send-email"


@contextmanager
def nothing_can_be_stored(world: World) -> Iterator[None]:
    """Let every write fail at once, as where another program holds the file for good."""

    async def write(_unit: Any) -> Any:
        raise StoreUnavailable("database is locked")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(world.store, "write", write)
        yield


async def stopped_in_vain(world: World, person: str, proposal_id: str, **how: Any) -> Reply:
    """Give a ❌ that the store cannot take."""
    with nothing_can_be_stored(world):
        return await world.workflow.reject(
            proposal_id, world.sender(person), "never do this", **how
        )


async def regrouped(world: World, _proposal_id: str) -> None:
    people = dict(world.workflow.policy.people)
    await world.adopts(people=people | {"ben": replace(people["ben"], groups=frozenset())})
