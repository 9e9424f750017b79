"""Asks the store whether it answers at all, and tells people while it does not: a disk may hang.

Such a disk refuses nothing. What was handed to the store waits, and nobody would hear why.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any, Final

from lifecycle.ports import ProposalStore, StoreUnavailable, Transaction
from lifecycle.surroundings import Surroundings
from lifecycle.workings.troubles import Troubles

#: People are told after so many waits of so many seconds. A process that was stopped for a while,
#: and the store with it, loses one wait by that, and tells nobody.
_WAITS: Final = 3
_WAIT_S: Final = 10.0


async def ask(around: Surroundings, troubles: Troubles) -> None:
    """Ask the store to write and to read nothing, and wait until it has answered.

    People are told after half a minute, and again when it answers. StoreUnavailable is an answer:
    whoever has something to write tells of that.
    """
    asked_ms = around.clock.now_ms()
    answer = asyncio.ensure_future(_answered(around.store))
    try:
        for _ in range(_WAITS):
            if await _comes(answer, around):
                return
        troubles.store_hangs(asked_ms)
        error = await answer
    finally:
        answer.cancel()
    if error is None:
        troubles.store_answers()
    else:
        troubles.store_failed(error)


async def _comes(answer: asyncio.Future[Any], around: Surroundings) -> bool:
    """Return whether the answer comes within one wait. Raises what the store raises."""
    waiting = asyncio.ensure_future(around.clock.sleep(_WAIT_S))
    try:
        await asyncio.wait({answer, waiting}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        waiting.cancel()
    if answer.done():
        answer.result()
    return answer.done()


async def _answered(store: ProposalStore) -> StoreUnavailable | None:
    """Return why the store does not write, None if it does. Units are answered in their order."""
    with suppress(StoreUnavailable):  # who must read something tells of that
        await store.read(_nothing)
    try:
        await store.write(_nothing)
    except StoreUnavailable as error:
        return error
    return None


def _nothing(_tx: Transaction) -> None:
    """Do nothing: that the unit or view is run says enough."""
