"""Reads a keyboard through a prompt with history, above which cards and answers appear."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final

from prompt_toolkit import PromptSession
from prompt_toolkit.application import create_app_session
from prompt_toolkit.history import FileHistory, History, InMemoryHistory
from prompt_toolkit.output.plain_text import PlainTextOutput
from prompt_toolkit.patch_stdout import patch_stdout
from prompt_toolkit.utils import is_dumb_terminal

from bot.chat.terminal.documents import Abandoned
from bot.chat.terminal.pasted import first_command
from bot.process.own_folder import own_folder
from lifecycle.text.masking import mask_text

_PROMPT: Final = "signoff> "
#: The prompt while a document is open.
_WITHIN: Final = "… "
_OPEN: Final = "The document is not closed: go on with it, or press Ctrl-C to give it up."
_HOW_TO_LEAVE: Final = "To leave, press Ctrl-D, or Ctrl-C once more."


class Keyboard:
    """Yields the lines that somebody types, until Ctrl-D or Ctrl-C twice on an empty line.

    What is pasted is given command by command, so that a decision in it never becomes part of
    another's reason.
    """

    amid = False

    def __init__(self, history: Path, say: Callable[[str], None]) -> None:
        """Take the file of the history, and a function that shows one line."""
        self._session = _session(_history(history))
        self._say = say
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
        return line.encode("utf-8", "surrogatepass")

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

    async def _asked(self, prompt: str) -> str | None:
        try:
            with patch_stdout(raw=True):
                return await self._session.prompt_async(prompt, handle_sigint=False)
        except EOFError:
            return None
        except KeyboardInterrupt:
            raise Abandoned from None


def _session(history: History) -> PromptSession[str]:
    """Return a session; a terminal that obeys no escapes is sent none at its beginning."""
    if not is_dumb_terminal():
        return PromptSession(history=history)
    with create_app_session(output=PlainTextOutput(sys.stdout)):
        return PromptSession(history=history)


def _history(path: Path) -> History:
    """Return a history that lasts if its folder can be written, else one for this run."""
    try:
        own_folder(path.parent)
        path.touch(mode=0o600, exist_ok=True)
    except OSError:
        return InMemoryHistory()
    return _MaskedHistory(str(path))


class _MaskedHistory(FileHistory):
    """Keeps what was typed without the credentials in it, for the file outlives the proposal."""

    def store_string(self, string: str) -> None:
        """Write one line, masked, if there is room on the disk."""
        with suppress(OSError):  # a full disk must not make the keyboard deaf
            super().store_string(mask_text(string))
