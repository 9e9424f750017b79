"""A keyboard in a machine whose locale lacks the letters that people type."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from prompt_toolkit.application import create_app_session
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.input.posix_utils import PosixStdinReader
from prompt_toolkit.output import DummyOutput

from bot.chat.terminal.keyboard import Keyboard
from tests.builders import MAIL
from tests.terminal import a_terminal

WORDS = "trop élevé, 高すぎる 🙂"


@pytest.mark.parametrize("locale", ["ascii", "euc_jp", "utf-8"])
async def test_a_reason_typed_in_a_locale_without_its_letters_is_kept_whole(
    tmp_path: Path, locale: str
) -> None:
    """Every such line was refused as no UTF-8, although it was, and an `approve` counted never."""
    terminal = a_terminal()
    await terminal.proposes(MAIL, proposal_id="m1")
    with create_pipe_input() as keys, create_app_session(input=keys, output=DummyOutput()):
        keys.stdin.encoding = locale  # type: ignore[attr-defined]
        keys.stdin_reader = PosixStdinReader(keys.fileno(), encoding=locale)  # type: ignore[attr-defined]
        keys.send_text(f"reject m1 {WORDS}\r\x04")
        await asyncio.wait_for(terminal.client.run(Keyboard(tmp_path / "history", print)), 20)

    assert (await terminal.world.proposal("m1")).explanation == WORDS
