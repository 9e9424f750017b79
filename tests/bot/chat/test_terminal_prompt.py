"""A prompt waits for nothing but keys: not for a further one, and not for what a terminal says."""

from __future__ import annotations

import asyncio
import io
from pathlib import Path

import pytest
from prompt_toolkit.application import create_app_session
from prompt_toolkit.data_structures import Size
from prompt_toolkit.output.vt100 import Vt100_Output

from bot.chat.terminal.keyboard import Keyboard
from tests.bot.chat.test_terminal_keys import ENTER, Desk, a_terminal_of_its_own

WHERE_IS_THE_CURSOR = "\x1b[6n"


class Screen(io.StringIO):
    """What is sent to a terminal."""

    def isatty(self) -> bool:
        return True


async def test_a_run_of_characters_behind_a_line_waits_for_no_further_key(tmp_path: Path) -> None:
    behind = "status " + "x" * 100
    with a_terminal_of_its_own() as (hand, keys):
        desk = Desk(hand, Keyboard(tmp_path / "history", lambda _: None, keys), keys)
        first = await desk.asked()
        desk.press("pending" + ENTER + behind)
        assert await asyncio.wait_for(first, 20) == b"pending"

        stands = asyncio.Event()
        desk.keyboard._session.default_buffer.on_text_changed += lambda _: stands.set()
        second = await desk.asked()
        await asyncio.wait_for(stands.wait(), 20)
        desk.press(ENTER)
        assert await asyncio.wait_for(second, 20) == behind.encode()


async def test_a_terminal_is_not_asked_where_its_cursor_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that does not answer was waited for at each line."""
    monkeypatch.setenv("TERM", "xterm")
    screen = Screen()
    with (
        a_terminal_of_its_own() as (hand, keys),
        create_app_session(input=keys, output=Vt100_Output(screen, lambda: Size(24, 80))),
    ):
        desk = Desk(hand, Keyboard(tmp_path / "history", lambda _: None, keys), keys)
        assert await desk.typed("pending", ENTER) == [b"pending"]

    assert "pending" in screen.getvalue()
    assert WHERE_IS_THE_CURSOR not in screen.getvalue()
