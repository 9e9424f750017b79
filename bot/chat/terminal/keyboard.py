"""A keyboard: a prompt with history, above which cards and answers appear."""

from __future__ import annotations

from pathlib import Path

from prompt_toolkit import PromptSession
from prompt_toolkit.history import FileHistory, History, InMemoryHistory
from prompt_toolkit.patch_stdout import patch_stdout

from lifecycle.masking import mask_text

_PROMPT = "signoff> "


class Keyboard:
    """Gives the lines that somebody types; Ctrl-D and Ctrl-C end the input."""

    def __init__(self, history: Path) -> None:
        self._session: PromptSession[str] = PromptSession(history=_history(history))

    async def next(self) -> bytes | None:
        """Return the next line, None at the end."""
        try:
            with patch_stdout(raw=True):
                line = await self._session.prompt_async(_PROMPT, handle_sigint=False)
        except (EOFError, KeyboardInterrupt):
            return None
        return line.encode("utf-8", "surrogatepass")


def _history(path: Path) -> History:
    """Return a history that lasts where the folder can be written, else one for this run."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch(mode=0o600, exist_ok=True)
    except OSError:
        return InMemoryHistory()
    return _MaskedHistory(str(path))


class _MaskedHistory(FileHistory):
    """Keeps what was typed without the credentials in it: the file outlives the proposal."""

    def store_string(self, string: str) -> None:
        """Write one line, masked."""
        super().store_string(mask_text(string))
