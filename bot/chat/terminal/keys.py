"""Reads the keys of a terminal at a bounded cost and loses none of them.

Without it a prompt is cheap for a person who types, and of quadratic cost for a program that does:
each key is looked up on its own, and each piece that is read draws the whole line anew. That
happens on the event loop, which all surfaces share.
"""

from __future__ import annotations

import asyncio
import atexit
import re
import termios
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext, suppress
from typing import Any, Final, TextIO

from prompt_toolkit.input.vt100 import Vt100Input, raw_mode
from prompt_toolkit.input.vt100_parser import Vt100Parser
from prompt_toolkit.key_binding import KeyBindings, KeyPress, KeyPressEvent
from prompt_toolkit.keys import Keys

from bot.process.cut_short import hear_anew

#: The most characters that are taken at one prompt; no document has so many.
LONGEST_ENTERED: Final = 1_048_576
#: Nobody presses so many keys at once: such a run of characters is taken as a paste.
_RUN: Final = re.compile(r"[^\x00-\x08\x0a-\x1f\x7f]{64,}")
#: A run is read in pieces, of which the later ones may be short: so many characters continue it.
_MORE: Final = re.compile(r"[^\x00-\x08\x0a-\x1f\x7f]{8,}")
#: No key's escape sequence is longer: what is no key after so many characters never becomes one.
_LONGEST_KEY: Final = 16
_PASTE_ENDS: Final = "\x1b[201~"
#: Ctrl-C that is read on its own was pressed by a person, also inside a paste: if the end of the
#: paste never comes, this alone gets the prompt back.
_GIVEN_UP: Final = "\x03"
#: A line up to this length can be undone; each step of undoing keeps a copy of the whole text.
_UNDONE: Final = 4_096


class TerminalKeys(Vt100Input):
    """The keys of a terminal, from the first prompt to `release`.

    The terminal is not handed back to its line discipline between prompts or while a card is
    printed. It would cut what is typed meanwhile to 4096 characters and lose Ctrl-D, and Ctrl-C
    would end the bot instead of clearing a line. Ctrl-C is a signal only while no prompt is open,
    because otherwise nobody would hear it then. A process that is cut short hands the terminal back
    too (`bot/process/cut_short.py`).
    """

    def __init__(self, stdin: TextIO) -> None:
        """Take the terminal that is standard input."""
        super().__init__(stdin)
        self.vt100_parser = self._parser = _Parser(self._pressed)
        self._before: list[Any] | None = None

    def raw_mode(self) -> AbstractContextManager[None]:
        """Take the keys for one prompt."""
        if self._before is None:
            with suppress(termios.error):  # a terminal that is gone
                self._before = termios.tcgetattr(self._fileno)
                atexit.register(self.release)
        return _Open(self._fileno)

    def cooked_mode(self) -> AbstractContextManager[None]:
        """Change nothing while something is printed above the prompt."""
        return nullcontext()

    def attach(self, input_ready_callback: Callable[[], None]) -> AbstractContextManager[None]:
        """Hear keys for one prompt; what was typed since the last prompt is heard at once."""
        loop = asyncio.get_running_loop()
        if self._parser.holds:
            loop.call_soon(input_ready_callback)
        # The prompt is about to listen for SIGWINCH, and the loop then takes the numbers of all
        # signals. If a tool held up the loop, nobody else would hear SIGTERM.
        loop.call_soon(hear_anew)
        return super().attach(input_ready_callback)

    def release(self) -> None:
        """Leave the terminal as it was found; its next user may be a shell."""
        if self._before is not None:
            with suppress(termios.error):
                termios.tcsetattr(self._fileno, termios.TCSANOW, self._before)
        self._before = None
        atexit.unregister(self.release)

    def _pressed(self, key: KeyPress) -> None:
        self._buffer.append(key)


class _Open(raw_mode):
    """An open prompt. When it closes, Ctrl-C becomes a signal again and the rest stays."""

    def __exit__(self, *_: object) -> None:
        with suppress(termios.error):
            now = termios.tcgetattr(self.fileno)
            now[3] |= termios.ISIG
            termios.tcsetattr(self.fileno, termios.TCSANOW, now)


class _Parser(Vt100Parser):
    """Takes a long run of plain characters as one paste, and holds no more of it than is taken.

    A run is collected, and handed on when a key follows or when nothing has followed for a moment
    (`flush`), because the whole line is copied and drawn at each piece that is handed on.
    """

    def __init__(self, pressed: Callable[[KeyPress], None]) -> None:
        super().__init__(pressed)
        self._held: list[str] = []
        self._length = 0
        #: True once an escape was read: it may have begun a key that the next run completes.
        self._begun = False
        #: The last characters of a paste so far: the mark of its end may be split over two pieces.
        self._end = ""

    @property
    def holds(self) -> bool:
        """True while a run is collected that no key has ended yet."""
        return bool(self._held) and not self._in_bracketed_paste

    def feed(self, data: str) -> None:
        """Take a piece that was read from the terminal."""
        if self._in_bracketed_paste and data == _GIVEN_UP:
            self._held, self._length = [], 0
            self._end, self._in_bracketed_paste = "", False
        if self._in_bracketed_paste:
            self._pasted(data)
            return
        run = (_MORE.match(data) if self._held else None) or _RUN.search(data)
        before = data if run is None else data[: run.start()]
        if before:
            self._hand_on()
            self._begun = self._begun or "\x1b" in before
            super().feed(before)
        if run is None:
            return
        if not self._in_bracketed_paste:
            self._run(run[0])
        else:
            self._pasted(run[0])
        self.feed(data[run.end() :])

    def flush(self) -> None:
        """Hand on what was collected, because nothing has followed for a moment."""
        if not self._in_bracketed_paste:
            self._hand_on()
        super().flush()

    def _run(self, run: str) -> None:
        """Collect a run. Its first characters may complete a key, or the mark of a paste."""
        if self._begun:
            self._begun = False
            super().feed(run[:_LONGEST_KEY])
            run = run[_LONGEST_KEY:]
            if self._in_bracketed_paste:
                self._pasted(run)
                return
            super().flush()
        self._hold(run.replace("\t", ""))  # as a key it does nothing here

    def _pasted(self, data: str) -> None:
        text, end, behind = (self._end + data).partition(_PASTE_ENDS)
        if not end:
            split = max(0, len(text) - len(_PASTE_ENDS) + 1)
            self._hold(text[:split])
            self._end = text[split:]
            return
        self._hold(text)
        self._end, self._in_bracketed_paste = "", False
        self._hand_on()
        self.feed(behind)

    def _hold(self, text: str) -> None:
        """Collect a piece, up to one character over the limit: that one tells it was too long."""
        text = text[: max(0, LONGEST_ENTERED + 1 - self._length)]
        if text:
            self._held.append(text)
            self._length += len(text)

    def _hand_on(self) -> None:
        if self._held:
            self.feed_key_callback(KeyPress(Keys.BracketedPaste, "".join(self._held)))
        self._held, self._length = [], 0


def bounded_pasting(left_out: Callable[[], None]) -> KeyBindings:
    """Return the key binding for a paste; it calls `left_out` if the line would become too long.

    What is over the limit is left out. A paste of several lines is cut between two lines, because
    the beginning of an id might be the id of another proposal.
    """
    bindings = KeyBindings()

    @bindings.add(Keys.BracketedPaste, save_before=_is_short)
    def _pasted(event: KeyPressEvent) -> None:
        text = event.data.replace("\r\n", "\n").replace("\r", "\n")
        room = max(0, LONGEST_ENTERED - len(event.current_buffer.text))
        taken = text[:room]
        if len(text) > room:
            left_out()
            lines, end, _ = taken.rpartition("\n")
            taken = lines + end if end else taken
        if taken:
            event.current_buffer.insert_text(taken)

    return bindings


def _is_short(event: KeyPressEvent) -> bool:
    return len(event.current_buffer.text) < _UNDONE
