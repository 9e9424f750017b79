"""Runs the terminal channel: a line, with its tool call, is finished before the next begins.

Nothing holds up the next line for good, for it may be a ❌: neither what others set in motion, nor
what cannot be written while the disk is full. Stops are heard as they come (`ahead`).
"""

from __future__ import annotations

import asyncio
import logging
import secrets
import sys
from collections.abc import Callable, Collection, Coroutine, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, TypeVar

from bot.chat.commands.commands import Commands
from bot.chat.commands.replies import CommandReply
from bot.chat.showing.delivery import Delivery
from bot.chat.terminal.ahead import Ahead
from bot.chat.terminal.commands import TerminalCommands
from bot.chat.terminal.documents import Heard, Input, Said
from bot.chat.terminal.lines import Lines
from bot.chat.terminal.render import Screen
from bot.chat.terminal.speakers import SURFACE
from bot.chat.terminal.unclosed import text_of
from lifecycle.heard import key_of
from lifecycle.located import located
from lifecycle.ports import StoreUnavailable

T = TypeVar("T")
log = logging.getLogger("signoff.terminal")

#: So long a line may take while writes fail; then the next one is processed.
_PATIENCE_S: Final = 1.0
_LOOK_S: Final = 0.1
#: So long the next line waits for what others keep setting in motion, as busy agents may.
_OTHERS_S: Final = 1.0
#: The prompt appears again once a line has been processed for so long.
_PROMPTED_S: Final = 0.25
#: A proposal's id is one of so many first words: `ben: settle p1 happened`.
_NAMED: Final = 4
_WELCOME: Final = (
    "Signoff at the terminal. Whoever types here is trusted: `ben: approve p1` speaks for ben. "
    "All commands: help. To leave: Ctrl-D"
)
_LATER: Final = (
    "The store cannot be written, so this takes its time; the answer follows, and the next line is "
    "read meanwhile."
)
_WAITS: Final = (
    "What was done is not written down yet, so this ends as soon as the store can be written. To "
    "end without waiting: Ctrl-C"
)
_BROKEN: Final = "Something went wrong here; tell an operator to see the log."


class TerminalClient:
    """Processes line after line to the end of the input, and answers each before the next."""

    def __init__(
        self,
        commands: Commands,
        delivery: Delivery,
        screen: Screen,
        *,
        folders: tuple[Path, ...],
    ) -> None:
        self._workflow = commands.workflow
        self._world = commands.workflow.world
        self._delivery = delivery
        self._screen = screen
        self._commands = TerminalCommands(commands, folders, lambda: secrets.token_hex(4))
        self._works: set[asyncio.Task[Any]] = set()
        #: The stop that is handed out and not begun yet, if there is one.
        self._handed_out: tuple[Said, ...] = ()

    async def run(self, lines: Input) -> None:
        """Process lines to the end of the input; also ends if nobody reads the answers."""
        patience_s = _PROMPTED_S if self._screen.drawn else 0.0
        ahead = Ahead(Heard(lines), self._world, patience_s)
        try:
            if self._screen.drawn:
                self._screen.line(_WELCOME)
            await self.settled()
            while (command := await ahead.next()) is not None:
                await self.answer(command)
            await self._finished()
        except OSError as error:
            why = error.strerror or str(error)
            log.warning("the terminal is gone (%s): what is typed from here on is not read", why)
            await self._unanswered(await ahead.close())
        except asyncio.CancelledError:
            # The process ends. What was heard held until now, and nobody would give it again.
            for stop in (*self._handed_out, *await ahead.close()):
                self._world.background.spawn(self._run(stop))
            raise
        finally:
            await ahead.close()
            for work in self._works:
                work.cancel()

    async def _unanswered(self, stops: Sequence[Said]) -> None:
        """Carry out stops that were heard already, although nobody reads the answers."""
        for stop in stops:
            await self._run(stop)

    async def answer(self, command: Said) -> None:
        """Answer one command, then finish what it set in motion. Raises OSError if nobody reads."""
        self._handed_out = (command,) if command.event_id is not None else ()
        async with self._delivery.held():
            work = self._begun(self._run(command))
            if await self._ended(work):
                self._show(work)
            else:
                self._screen.line(_LATER)
                self._begun(self._shown_later(work))
        await self.settled(_about(command, work))
        self._screen.forget_answer()

    async def settled(self, about: Collection[str] = ()) -> None:
        """Show what is due and let begin what waited for its card, until nothing more moves now.

        Calls of tools for the proposals `about` which the line was are waited for first. If others
        keep setting something in motion, that is shown behind the next line.
        """
        loop, spent_s = asyncio.get_running_loop(), 0.0
        while spent_s < _OTHERS_S:
            if not self._unwritten:
                called = self._begun(self._workflow.called(about))
                if not await self._ended(called):
                    called.cancel()
            if self._unwritten:
                return  # what is shown now could not be noted, and would come again at every line
            began_s = loop.time()
            moved = self._begun(self._moved())
            await asyncio.wait({moved}, timeout=_OTHERS_S - spent_s)
            if not moved.done() or not moved.result():
                return
            spent_s += loop.time() - began_s

    async def _moved(self) -> bool:
        """Show what is due, and begin what waited for that; return whether there was anything."""
        try:
            shown = await self._delivery.drain()
            opened = await self._workflow.open_ready()
            return bool(shown or opened)
        except StoreUnavailable:
            log.error("the store cannot be read or written; the terminal shows the rest later")
        except Exception as error:
            log.error("what is due could not be shown: %s", located(error))
        return False

    async def _finished(self) -> None:
        """Wait for all that was begun: at the end of the input no line waits behind it."""
        if self._world.units.owed:
            self._screen.line(_WAITS)
        while self._works:
            await asyncio.wait(set(self._works))
        await self._workflow.idle()
        await self.settled()

    # -- one piece of work ------------------------------------------------------------------

    async def _run(self, command: Said) -> CommandReply | None:
        """Run one command. A mistake of ours costs its answer, never the terminal.

        If it was a stop, its hold stays after such a mistake, until a person lets go of that.
        """
        self._handed_out = ()
        try:
            reply = await self._commands.run(command)
        except Exception as error:
            log.error("a line could not be worked off: %s", located(error))
            return CommandReply.words(_BROKEN)
        if command.event_id is not None:
            self._world.heard.drop(key_of(SURFACE, command.event_id))
        return reply

    async def _shown_later(self, work: asyncio.Task[CommandReply | None]) -> None:
        await asyncio.wait({work})
        async with self._delivery.held():
            try:
                self._show(work)
            except OSError as error:
                log.warning("an answer was read by nobody: %s", error.strerror)

    def _show(self, work: asyncio.Task[CommandReply | None]) -> None:
        reply = CommandReply.words(_BROKEN) if work.cancelled() else work.result()
        if reply is not None:
            self._screen.reply(reply)

    def _begun(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        task = asyncio.create_task(work)
        self._works.add(task)
        task.add_done_callback(self._works.discard)
        return task

    async def _ended(self, work: asyncio.Task[Any]) -> bool:
        """Wait for the end of some work; False if writes fail and it takes over a second."""
        waited_s = 0.0
        while waited_s < _PATIENCE_S:
            await asyncio.wait({work}, timeout=_LOOK_S)
            if work.done():
                return True
            waited_s = waited_s + _LOOK_S if self._unwritten or self._world.units.owed else 0.0
        return False

    @property
    def _unwritten(self) -> bool:
        return self._world.troubles.unwritten.since_ms is not None


def _about(command: Said, work: asyncio.Task[CommandReply | None]) -> frozenset[str]:
    """Return the ids of the proposals that a line may have been about, among other words of it."""
    named = text_of(command.line).split(maxsplit=_NAMED)[:_NAMED]
    reply = work.result() if work.done() and not work.cancelled() else None
    answered = reply.document.get("proposal_id") if reply is not None and reply.document else None
    return frozenset((*named, str(answered)))


@contextmanager
def standard_input(history: Path, say: Callable[[str], None]) -> Iterator[Input]:
    """Yield the input at hand: a keyboard with a prompt, else the lines of a pipe or a file."""
    if not sys.stdin.isatty():
        yield Lines(sys.stdin.fileno(), say)
        return
    from bot.chat.terminal.keyboard import Keyboard
    from bot.chat.terminal.keys import TerminalKeys

    keys = TerminalKeys(sys.stdin)
    try:
        yield Keyboard(history, say, keys)
    finally:
        keys.release()
