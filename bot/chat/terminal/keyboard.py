"""Reads a keyboard through a prompt with history, above which cards and answers appear."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Final

from prompt_toolkit import PromptSession
from prompt_toolkit.application import create_app_session
from prompt_toolkit.application.current import get_app_session
from prompt_toolkit.history import FileHistory, History, InMemoryHistory
from prompt_toolkit.output.plain_text import PlainTextOutput
from prompt_toolkit.output.vt100 import Vt100_Output
from prompt_toolkit.patch_stdout import patch_stdout
from prompt_toolkit.utils import is_dumb_terminal

from bot.chat.terminal.documents import Abandoned
from bot.chat.terminal.keys import LONGEST_ENTERED, TerminalKeys, bounded_pasting
from bot.chat.terminal.pasted import first_command
from bot.chat.terminal.shown_part import ShownPart
from bot.process.despite_locale import despite_locale
from bot.process.own_folder import own_folder
from lifecycle.text.masking import mask_text

_PROMPT: Final = "signoff> "
#: The prompt while a document is open.
_WITHIN: Final = "… "
_OPEN: Final = "The document is not closed: go on with it, or press Ctrl-C to give it up."
_HOW_TO_LEAVE: Final = "To leave, press Ctrl-D, or Ctrl-C once more."
_LEFT_OUT: Final = (
    f"More than {LONGEST_ENTERED} characters were entered at once; the rest was left out."
)
#: A long line that is still coming in is drawn no more often.
_DRAWN_EVERY_S: Final = 0.03
#: So many entries are remembered, from so much of the end of the file: all are copied at each
#: prompt.
_MOST_ENTRIES: Final = 1_000
_MOST_REMEMBERED_BYTES: Final = 262_144
#: A longer entry is not remembered: to look for credentials in it would block the loop.
_LONGEST_ENTRY: Final = 16_384


class Keyboard:
    """Yields the lines that somebody types, until Ctrl-D or Ctrl-C twice on an empty line.

    What is pasted is given command by command, so that a decision in it never becomes part of
    another's reason.
    """

    amid = False

    def __init__(
        self, history: Path, say: Callable[[str], None], keys: TerminalKeys | None = None
    ) -> None:
        """Take the file of the history, a function that shows one line, and the keys if they are
        not those of the session."""
        self._session = _session(_history(history), keys)
        self._session.key_bindings = bounded_pasting(self._left_out)
        self._session.input_processors = [ShownPart()]
        self._session.app.min_redraw_interval = _DRAWN_EVERY_S
        keys_from = getattr(self._session.input, "stdin", None)
        self._encoding: str | None = getattr(keys_from, "encoding", None)
        self._say = say
        self._cut = False
        self._rest = ""
        self._told = False

    async def next(self, *, within: bool = False) -> bytes | None:
        """Return the next command, None at the end; inside a document, its next line.

        Raises Abandoned if Ctrl-C was typed inside a document.
        """
        if within and not self._rest and not self._told:
            self._say(_OPEN)
        self._told = within
        if not self._rest:
            entered = await (self._asked(_WITHIN) if within else self._entered())
            if entered is None:
                return None
            self._rest = entered
        if within:
            line, _, self._rest = self._rest.partition("\n")
        else:
            line, self._rest = first_command(self._rest)
        return despite_locale(line, self._encoding).encode("utf-8", "surrogatepass")

    async def _entered(self) -> str | None:
        """Ask until a line is entered. Ctrl-C clears it; on an empty one it must be confirmed."""
        told = False
        while True:
            try:
                return await self._asked(_PROMPT)
            except Abandoned:
                if self._session.default_buffer.text:
                    told = False
                elif told:
                    return None
                else:
                    self._say(_HOW_TO_LEAVE)
                    told = True

    def _left_out(self) -> None:
        self._cut = True

    async def _asked(self, prompt: str) -> str | None:
        self._cut = False
        try:
            with patch_stdout(raw=True):
                entered = await self._session.prompt_async(prompt, handle_sigint=False)
            if self._cut or len(entered) > LONGEST_ENTERED:
                self._say(_LEFT_OUT)
            return entered[:LONGEST_ENTERED]
        except EOFError:
            return None
        except KeyboardInterrupt:
            raise Abandoned from None


def _session(history: History, keys: TerminalKeys | None) -> PromptSession[str]:
    """Return a session; a terminal that obeys no escapes is sent none at its beginning."""
    if is_dumb_terminal():
        with create_app_session(input=keys, output=PlainTextOutput(sys.stdout)):
            return PromptSession(history=history, input=keys)
    output = get_app_session().output
    if isinstance(output, Vt100_Output):
        # Only menus need to know where the cursor is. A terminal that does not say so would be
        # waited for at each line, and its answer might be taken for what is typed.
        output.enable_cpr = False
    return PromptSession(history=history, input=keys)


def _history(path: Path) -> History:
    """Return a history that lasts if its folder can be written, else one for this run."""
    try:
        own_folder(path.parent)
        path.touch(mode=0o600, exist_ok=True)
    except OSError:
        return InMemoryHistory()
    return _MaskedHistory(path)


class _MaskedHistory(FileHistory):
    """Keeps what was typed without the credentials in it, for the file outlives the proposal."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._path = path

    def load_history_strings(self) -> Iterable[str]:
        """Return the last entries, the newest first."""
        with suppress(OSError), self._path.open("rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - _MOST_REMEMBERED_BYTES))
            return islice(_entries(file.read(_MOST_REMEMBERED_BYTES)), _MOST_ENTRIES)
        return ()

    def append_string(self, string: str) -> None:
        """Remember an entry, unless it is long."""
        if len(string) <= _LONGEST_ENTRY:
            super().append_string(string)
            del self._loaded_strings[_MOST_ENTRIES:]

    def store_string(self, string: str) -> None:
        """Write one line, masked, if there is room on the disk."""
        with suppress(OSError):  # a full disk must not make the keyboard deaf
            super().store_string(mask_text(string))


def _entries(text: bytes) -> Iterator[str]:
    """Yield the entries of a history, the newest first. The oldest may have lost its beginning."""
    entry: list[str] = []
    for line in reversed(text.decode("utf-8", "replace").split("\n")):
        if line.startswith("+"):
            entry.append(line[1:])
        elif entry:
            yield "\n".join(reversed(entry))
            entry = []
    if entry:
        yield "\n".join(reversed(entry))
