"""Reads on while a line is processed, so that a stop is heard the moment it comes.

A ✅ may wait for people and platforms, and a tool takes its time. A ❌ typed meanwhile is carried
out in its turn, but nothing of its proposal is made final before that.
"""

from __future__ import annotations

import asyncio
import itertools
import secrets
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final

from bot.chat.hearing.stops import StopOf, stop_typed
from bot.chat.terminal.documents import Abandoned, Heard, Said
from bot.chat.terminal.speakers import SURFACE, named
from bot.chat.terminal.unclosed import text_of
from lifecycle.heard import HeardStop, key_of
from lifecycle.world import World

#: Lines with no longer a pause between them were written in one go, before anything was answered.
_PAUSE_S: Final = 0.1
#: After so long a stop in a script is heard early: the line before it waits for a platform or tool.
_WAITED_S: Final = 1.0
#: So much is read ahead of the line that is processed.
_MOST_LINES: Final = 1_000
_MOST_BYTES: Final = 1_048_576


@dataclass(eq=False, slots=True)
class _Line:
    """One command that waits or is processed; `behind` are the stops that are heard when it ends.

    `go` numbers the go in which it was written, `given` says that it was handed out.
    """

    said: Said
    go: int
    stop: StopOf | None
    behind: list[_Line] = field(default_factory=list)
    heard: bool = False
    given: bool = False


class Ahead:
    """Hands out command after command, and hears those that stop something as soon as they come.

    What was written in one go is a script. If a line of it names a proposal, a stop of that
    proposal behind it is heard only when that line has ended, as if nothing had been read ahead,
    but after a second at the latest. `patience_s` is how long a line is processed before the next
    one is read: without it a prompt would appear at once.
    """

    def __init__(self, heard: Heard, world: World, patience_s: float = 0.0) -> None:
        self._heard = heard
        self._world = world
        self._patience_s = patience_s
        self._lines: deque[_Line] = deque()
        self._bytes = 0
        self._at_work: _Line | None = None
        self._go = 0
        self._numbers = itertools.count(1)
        self._process = secrets.token_hex(4)
        self._changed = asyncio.Event()
        self._reading: asyncio.Task[None] | None = None

    async def next(self) -> Said | None:
        """Return the next command, None at the end of the input; the one before is done now.

        Raises what reading raised, once all that was read before is handed out.
        """
        self._done()
        if self._reading is None:
            self._reading = asyncio.create_task(self._read())
            self._reading.add_done_callback(lambda _: self._changed.set())
        while not self._lines:
            if self._reading.done():
                self._reading.result()
                return None
            await self._change()
        self._at_work = self._lines.popleft()
        self._bytes -= len(self._at_work.said.line)
        self._changed.set()
        self._at_work.given = True
        return self._at_work.said

    async def close(self) -> Sequence[Said]:
        """Read no more; return the stops that came and that nobody has processed."""
        if self._reading is not None:
            self._reading.cancel()
            await asyncio.gather(self._reading, return_exceptions=True)
        for line in self._lines:
            line.given = True
        return [each.said for each in self._lines if each.said.event_id is not None]

    # -- inside ---------------------------------------------------------------------------

    async def _read(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            await self._room()
            began_s = loop.time()
            try:
                said = await self._heard.next()
            except Abandoned:
                continue
            if said is None:
                return
            if loop.time() - began_s > _PAUSE_S:
                self._go += 1
            self._take(said)

    async def _room(self) -> None:
        """Wait until there is room for another line, and a prompt would not be in the way."""
        if self._patience_s and (self._at_work is not None or self._lines):
            with suppress(TimeoutError):
                async with asyncio.timeout(self._patience_s):
                    while self._at_work is not None or self._lines:
                        await self._change()
        while len(self._lines) >= _MOST_LINES or self._bytes >= _MOST_BYTES:
            await self._change()

    async def _change(self) -> None:
        self._changed.clear()
        await self._changed.wait()

    def _take(self, said: Said) -> None:
        stop = stop_typed(named(text_of(said.line))[1])
        if stop is not None:
            number = f"line:{self._process}:{next(self._numbers)}"
            said = said._replace(event_id=number)
        line = _Line(said, self._go, stop)
        before = self._before(line)
        if before is not None:
            before.behind.append(line)
            asyncio.get_running_loop().call_later(_WAITED_S, self._hear, line)
        else:
            self._hear(line)
        self._lines.append(line)
        self._bytes += len(said.line)
        self._changed.set()

    def _before(self, line: _Line) -> _Line | None:
        """Return the last line of the same go that this stop may be meant to follow, or None.

        That is one that names its proposal; for a freeze it is any line.
        """
        if line.stop is None:
            return None
        about = (line.stop.proposal_id or "").encode("utf-8", "surrogateescape")
        for each in reversed((self._at_work, *self._lines)):
            if each is None or each.go != line.go:
                return None
            if about in each.said.line:
                return each
        return None

    def _hear(self, line: _Line) -> None:
        """Put a stop into `World.heard`, unless it is being processed already."""
        event_id = line.said.event_id
        if line.stop is None or event_id is None or line.heard or line.given:
            return
        line.heard = True
        key, now_ms = key_of(SURFACE, event_id), self._world.clock.now_ms()
        self._world.heard.add(HeardStop(key, SURFACE, now_ms, *line.stop))

    def _done(self) -> None:
        if self._at_work is not None:
            for each in self._at_work.behind:
                self._hear(each)
        self._at_work = None
        self._changed.set()
