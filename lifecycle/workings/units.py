"""Units run in the store: once, or again until the store takes what must not be lost.

There are three ways to write. What a failure costs decides which one is right:

- `World.write` is the normal way, for what people and agents ask and for what jobs do. It runs the
  unit once. If the store fails, people are alerted, once until it is well again, and the caller is
  given StoreUnavailable. Afterwards the surfaces are nudged (`news=False`: they are not), and the
  all-clear is given.
- `World.write_until_taken` is for what has happened already and nobody will say again: a tool's
  answer, the end of an event of an inbox, a ✅ that could not be judged. It tries with back-off
  until the store takes it, and alerts and nudges as well.
- `store.write` skips alert, check of the row and nudge. The bot uses it for its own books that no
  surface waits for, or where it nudges itself (who was called, where the board stands, retries,
  callbacks, calls of AAP), for taking an event into an inbox, which is not acknowledged if that
  fails, for trying the store out, and where there is no World (`signoff freeze`). The law itself
  uses it only to try the store out, or to wait for what was written before.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from lifecycle.ports import (
    RowAtFault,
    RowRefused,
    RowUnreadable,
    StoreUnavailable,
    Transaction,
)
from lifecycle.surroundings import Surroundings
from lifecycle.workings.troubles import Troubles
from lifecycle.workings.unwritten import takes_others

T = TypeVar("T")
log = logging.getLogger("signoff.workflow")

_LONGEST_PAUSE_S = 60.0
_MOMENT_S = 0.5
_OWING = "writing down what must not be lost"


class Units:
    """Writes to the store and reads from it; people are told once when the store fails.

    `owed` are the writes that are tried until the store takes them, each with why it did not so
    far.
    """

    def __init__(self, around: Surroundings, troubles: Troubles) -> None:
        """Use the store that `around` holds at the time of each call."""
        self._around = around
        self._troubles = troubles
        self.owed: dict[object, StoreUnavailable] = {}

    async def write(self, unit: Callable[[Transaction], T], *, news: bool = True) -> T:
        """Run a unit once, then let the surfaces know that there may be something to show (`news`).

        Raises StoreUnavailable if nothing of the unit has happened, and whatever the unit raises.
        """
        value = await self._tried(unit)
        await self._written(news=news)
        return value

    async def write_until_taken(
        self, unit: Callable[[Transaction], T], *, failed: StoreUnavailable | None = None
    ) -> T:
        """Run a unit that must not be lost, again and again with back-off until the store takes it.

        `failed` is why the store refused it before, if it did: then it is owed from the beginning.
        Raises what the unit itself raises.
        """
        ours, pause_s = object(), _MOMENT_S
        if failed is not None:
            self.owed[ours] = failed
        try:
            with self._trying(_OWING, str(id(ours))):
                while True:
                    try:
                        value = await self._tried(unit)
                        break
                    except StoreUnavailable as error:
                        self.owed[ours] = error
                        if isinstance(error, RowAtFault):  # `_tried` tells of the store alone
                            self._troubles.step_failed(_OWING, str(error), whose=str(id(ours)))
                    pause_s = await self._paused("written", pause_s, told=True)
        finally:
            self.owed.pop(ours, None)
        await self._written()
        return value

    async def read_until_answered(self, step: str, view: Callable[[Transaction], T]) -> T:
        """Run a view that decides what a call does, again with back-off until it can be read.

        `step` says what waits for it, for people who are told if it waits long. Raises
        RowUnreadable for a row that cannot be read however long one waits.
        """
        pause_s = _MOMENT_S
        with self._trying(step):
            while True:
                try:
                    return await self._around.store.read(view)
                except RowUnreadable:
                    raise
                except StoreUnavailable as error:
                    self._troubles.step_failed(step, str(error))
                pause_s = await self._paused("read", pause_s, told=pause_s > _MOMENT_S)

    @contextmanager
    def _trying(self, step: str, whose: str = "") -> Iterator[None]:
        """Note how it ends that a step is tried again and again: it went well, or is given up."""
        given_up = ""
        try:
            yield
        except BaseException as error:
            given_up = _why_given_up(error)
            raise
        finally:
            self._troubles.step_mended(step, whose, given_up=given_up)

    async def check_others(self, error: RowAtFault) -> None:
        """Raise StoreUnavailable, and tell people, if the store takes no other unit either."""
        if isinstance(error, RowRefused) and not await takes_others(self._around.store):
            self._troubles.store_failed(error)
            raise StoreUnavailable(str(error)) from error

    async def _tried(self, unit: Callable[[Transaction], T]) -> T:
        """Run a unit once; the first unit that the store does not take is told to people."""
        try:
            return await self._around.store.write(unit)
        except RowAtFault as error:
            await self.check_others(error)
            raise
        except StoreUnavailable as error:
            self._troubles.store_failed(error)
            raise

    async def _written(self, *, news: bool = True) -> None:
        """Nudge the surfaces after a unit was written, and give the all-clear if none fails now."""
        if news:
            self._around.notifier.nudge()
        unwritten = self._troubles.unwritten
        if not self.owes() and await unwritten.over(self._around.store) and not self.owes():
            self._troubles.store_mended()

    def owes(self) -> bool:
        """Return whether a write waits for the store itself, and not for one row of it."""
        return any(not isinstance(why, RowAtFault) for why in self.owed.values())

    async def _paused(self, what: str, pause_s: float, *, told: bool) -> float:
        """Wait before the store is tried again; return how many seconds to wait the next time.

        Near the end the wait is short: what the store takes until then is not lost.
        """
        around = self._around
        pause_s = _MOMENT_S if around.ending else pause_s
        tell = log.info if told else log.error  # many may wait for the same and would all log it
        tell("the store cannot be %s; trying again in %.1f s", what, pause_s)
        until_ms = around.clock.now_ms() + round(pause_s * 1000)
        await around.clock.sleep(_MOMENT_S)
        while not around.ending and (left_ms := until_ms - around.clock.now_ms()) > 0:
            await around.clock.sleep(min(_MOMENT_S, left_ms / 1000))
        return min(_LONGEST_PAUSE_S, pause_s * 2)


def _why_given_up(error: BaseException) -> str:
    if isinstance(error, asyncio.CancelledError):
        return "the bot ends"
    return str(error) if isinstance(error, RowUnreadable) else type(error).__name__
