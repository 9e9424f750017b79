"""Asks the store whether it answers at all, and tells people if it does not, as on a hanging disk.

Such a disk refuses nothing: what was handed to the store waits, and nobody would hear why. The job
`ask_store` calls `ask` on the event loop.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any, Final

from lifecycle.ports import ProposalStore, StoreUnavailable, Transaction
from lifecycle.surroundings import Surroundings
from lifecycle.workings.troubles import Troubles

#: People are told after three waits of ten seconds each. They are no single wait of thirty seconds,
#: because a process that was stopped for a while, and its store with it, then finds one wait over
#: and not all three, so that it tells nobody.
_WAITS: Final = 3
_WAIT_S: Final = 10.0


async def ask(around: Surroundings, troubles: Troubles) -> None:
    """Have the store run an empty view and an empty unit, and wait until it has answered both.

    People are told if that takes half a minute, and again when it answers. StoreUnavailable counts
    as an answer: people are told why here only if they were told before that it does not answer;
    otherwise whoever has something to write tells them.
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
    """Return True if the answer comes within one wait. Raises what the store raises."""
    waiting = asyncio.ensure_future(around.clock.sleep(_WAIT_S))
    try:
        await asyncio.wait({answer, waiting}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        waiting.cancel()
    if answer.done():
        answer.result()
    return answer.done()


async def _answered(store: ProposalStore) -> StoreUnavailable | None:
    """Return why the store does not write, None if it does.

    Units are answered in their order, so this one waits behind all that were handed over before.
    """
    with suppress(StoreUnavailable):  # whoever must read something tells people of that
        await store.read(_nothing)
    try:
        await store.write(_nothing)
    except StoreUnavailable as error:
        return error
    return None


def _nothing(_tx: Transaction) -> None:
    """Do nothing: that the unit or view is run says enough."""
