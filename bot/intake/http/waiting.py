"""Hold answers back until something changes; one read of the store serves all who wait."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Iterable
from typing import Final

from lifecycle.located import located
from lifecycle.ports import Notifier, ProposalStore, RowAtFault, StoreUnavailable, Transaction
from lifecycle.review import Absent

log = logging.getLogger("signoff.http")

#: A short text that stands for what is watched; equal marks mean that nothing has changed.
Mark = str | None
_POLL_S: Final = 1.0
#: Changes within this time are looked at together.
_GATHER_S: Final = 0.01
#: The mark of what cannot be read any more. Nobody has seen it, so whoever waits for that is
#: released, and hears what is wrong when it is read for the answer.
_UNREAD: Final = "cannot be read"


#: The words say no more, because an operation may go on for a moment and still be written.
ENDING: Final = "Signoff is stopping. Look what became of this once it runs again."


class BotEnds(Exception):
    """The bot ends: what is held back or under way is not answered any more."""


class Waiting:
    """Those who wait, by key. `mark_of` is a view that returns the mark of a key."""

    def __init__(self, store: ProposalStore, mark_of: Callable[[Transaction, str], Mark]) -> None:
        """Watch nothing until `watch` runs."""
        self._store = store
        self.mark_of = mark_of
        self._waiting: dict[str, set[tuple[Mark, asyncio.Future[None]]]] = {}
        self._heard = asyncio.Event()
        self._closed = False

    @property
    def closed(self) -> bool:
        """True if nobody is held any more, because the bot ends."""
        return self._closed

    def heard(self) -> None:
        """Note that something may have changed; returns at once."""
        self._heard.set()

    async def changed(self, key: str, seen: Mark, timeout_s: float) -> None:
        """Return once the mark of `key` differs from `seen`, or when the time is over."""
        if timeout_s <= 0 or self._closed:
            return
        entry = (seen, asyncio.get_running_loop().create_future())
        self._waiting.setdefault(key, set()).add(entry)
        self._heard.set()
        try:
            async with asyncio.timeout(timeout_s):
                await entry[1]
        except TimeoutError:
            return
        finally:
            self._forget(key, entry)

    async def watch(self) -> None:
        """Look after each change that was heard, and once a second, until cancelled."""
        while True:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_POLL_S):
                    await self._heard.wait()
            await asyncio.sleep(_GATHER_S)
            self._heard.clear()
            if self._waiting:
                await self._look()

    def close(self) -> None:
        """Release everybody, and hold nobody from now on."""
        self._closed = True
        for entries in list(self._waiting.values()):
            for _, future in entries:
                _done(future)

    async def _look(self) -> None:
        keys = tuple(self._waiting)
        try:
            marks = await self._store.read(lambda tx: {key: self._marked(tx, key) for key in keys})
        except StoreUnavailable:
            log.warning("the store cannot be read; those who wait go on waiting")
            return
        except Exception as error:  # it must not end the watch, which nobody would begin anew
            log.error("those who wait go on waiting: %s", located(error))
            return
        for key, mark in marks.items():
            for seen, future in list(self._waiting.get(key, ())):
                if mark != seen:
                    _done(future)

    def _marked(self, tx: Transaction, key: str) -> Mark:
        """Return the mark of a key; one row that cannot be read keeps nobody else waiting."""
        try:
            return self.mark_of(tx, key)
        except RowAtFault:
            return _UNREAD

    def _forget(self, key: str, entry: tuple[Mark, asyncio.Future[None]]) -> None:
        entries = self._waiting.get(key)
        if entries is not None:
            entries.discard(entry)
            if not entries:
                del self._waiting[key]


def _done(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)


class Heard:
    """A notifier that also tells a door of each nudge; all else is the inner notifier's."""

    def __init__(self, inner: Notifier, heard: Callable[[], None]) -> None:
        """Wrap `inner`; `heard` is called at each nudge."""
        self._inner = inner
        self._heard = heard

    def nudge(self) -> None:
        """Pass it on, and tell the door."""
        self._inner.nudge()
        self._heard()

    def surfaces(self) -> tuple[str, ...]:
        """Return the names of the configured surfaces."""
        return self._inner.surfaces()

    def alert(self, words: str) -> None:
        """Say it on every surface."""
        self._inner.alert(words)

    async def read_cards(self, proposal_id: str) -> bool:
        """Apply decisions found on the cards."""
        return await self._inner.read_cards(proposal_id)

    async def lost_members(
        self, people: Iterable[str], *, only_certain: bool = False
    ) -> frozenset[Absent]:
        """Return those of `people` who have left, are banned or cannot be read."""
        return await self._inner.lost_members(people, only_certain=only_certain)

    async def catch_up(self) -> int:
        """Read what the surfaces kept."""
        return await self._inner.catch_up()

    async def hear_others(self, proposal_id: str, but: str) -> bool:
        """Hear what stands under ❌ on the other surfaces."""
        return await self._inner.hear_others(proposal_id, but)
