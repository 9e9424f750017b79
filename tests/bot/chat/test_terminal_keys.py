"""The keys of a real terminal: whatever comes in, and however fast, costs little and is heard."""

from __future__ import annotations

import asyncio
import os
import pty
import signal
import sys
import termios
import threading
from asyncio.subprocess import DEVNULL
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from prompt_toolkit.application import create_app_session
from prompt_toolkit.application.run_in_terminal import in_terminal
from prompt_toolkit.document import Document
from prompt_toolkit.formatted_text.utils import fragment_list_to_text
from prompt_toolkit.layout.controls import BufferControl
from prompt_toolkit.layout.processors import TransformationInput
from prompt_toolkit.output import DummyOutput

from bot.chat.terminal.documents import LONGEST_LINE
from bot.chat.terminal.keyboard import Keyboard
from bot.chat.terminal.keys import LONGEST_ENTERED, TerminalKeys
from bot.chat.terminal.shown_part import ShownPart
from bot.process.cut_short import ended_by_signals
from tests.conftest import ROOT

CTRL_C, CTRL_D, ENTER = "\x03", "\x04", "\r"
LEFT_OUT = f"More than {LONGEST_ENTERED} characters were entered at once; the rest was left out."


@dataclass
class Desk:
    """A keyboard in a terminal of its own; `hand` is where keys are pressed."""

    hand: int
    keyboard: Keyboard
    keys: TerminalKeys
    said: list[str] = field(default_factory=list)

    async def typed(self, *texts: str) -> list[bytes | None]:
        """Press keys and return what was entered, up to the end of the input."""
        first = await self.asked()
        pressing = asyncio.create_task(asyncio.to_thread(self.press, "".join(texts) + CTRL_D))
        lines = [await asyncio.wait_for(first, 20)]
        while lines[-1] is not None:
            lines.append(await asyncio.wait_for(self.keyboard.next(), 20))
        await pressing
        return lines[:-1]

    async def asked(self) -> asyncio.Task[bytes | None]:
        """Ask for a line, and return once the prompt is there."""
        shown = asyncio.Event()
        self.keyboard._session.app.after_render += lambda _: shown.set()
        asking = asyncio.create_task(self.keyboard.next())
        await asyncio.wait_for(shown.wait(), 20)
        return asking

    def press(self, text: str) -> None:
        data = text.encode()
        while data:
            data = data[os.write(self.hand, data) :]

    @property
    def modes(self) -> int:
        """The local modes of the terminal."""
        return int(termios.tcgetattr(self.hand)[3])


@contextmanager
def a_terminal_of_its_own() -> Iterator[tuple[int, TerminalKeys]]:
    hand, terminal = pty.openpty()
    with os.fdopen(terminal, "r", encoding="utf-8") as stdin:
        keys = TerminalKeys(stdin)
        try:
            with create_app_session(input=keys, output=DummyOutput()):
                yield hand, keys
        finally:
            os.close(hand)


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    with a_terminal_of_its_own() as (hand, keys):
        said: list[str] = []
        yield Desk(hand, Keyboard(tmp_path / "history", said.append, keys), keys, said)


def test_a_keyboard_takes_as_much_as_a_pipe() -> None:
    assert LONGEST_ENTERED == LONGEST_LINE


@pytest.mark.parametrize(
    "text", ["a" * 100_000, "pending " + "é✅" * 40_000, "e" + "\u0301" * 50_000, "x\ty" * 30_000]
)
async def test_a_long_line_typed_at_once_is_taken_as_one_piece_and_not_key_by_key(
    desk: Desk, text: str
) -> None:
    changes = 0

    def changed(_: object) -> None:
        nonlocal changes
        changes += 1

    desk.keyboard._session.default_buffer.on_text_changed += changed

    lines = await desk.typed(text, ENTER, "pending", ENTER)

    assert lines == [text.replace("\t", "").encode(), b"pending"]
    assert changes < len(text) / 10
    assert desk.said == []


@pytest.mark.parametrize("paste", ["{}", "\x1b[200~{}\x1b[201~"])
async def test_of_a_line_too_long_for_any_document_the_rest_is_left_out_and_that_is_said(
    desk: Desk, paste: str
) -> None:
    first = "reject m1 " + "a" * (LONGEST_ENTERED - 10)

    lines = await desk.typed(paste.format(first + "b" * 70_000), ENTER, "freeze drill", ENTER)

    assert lines == [first.encode(), b"freeze drill"]
    assert desk.said == [LEFT_OUT]


async def test_of_too_many_pasted_lines_none_is_taken_in_part(desk: Desk) -> None:
    line = "approve m1234567\n"
    text = line * (LONGEST_ENTERED // len(line) + 9)
    asking = await desk.asked()
    await asyncio.to_thread(desk.press, f"\x1b[200~{text}\x1b[201~{ENTER}")

    assert await asyncio.wait_for(asking, 20) == b"approve m1234567"
    assert set(desk.keyboard._rest.split("\n")) == {"approve m1234567", ""}
    assert desk.said == [LEFT_OUT]


async def test_a_paste_whose_marks_come_in_two_pieces_is_one_paste(desk: Desk) -> None:
    run = "a" * 1_017
    for split in range(8):
        text = "b" * split + run[split:]
        lines = await desk.typed(f"\x1b[200~{text}\x1b[201~", ENTER)
        assert lines == [text.encode()]


async def test_ctrl_c_gives_up_a_paste_whose_end_never_comes(desk: Desk) -> None:
    asking = await desk.asked()
    desk.press("\x1b[200~approve d1\n")
    while not desk.keys.vt100_parser._held:  # type: ignore[attr-defined]
        await asyncio.wait({asking}, timeout=0.01)
    desk.press(CTRL_C)

    while not desk.said:
        await asyncio.wait({asking}, timeout=0.01)
    desk.press("pending" + ENTER)
    assert await asyncio.wait_for(asking, 20) == b"pending"


async def test_an_escape_without_an_end_is_not_remembered_at_each_character(desk: Desk) -> None:
    lines = await desk.typed("\x1b[" + "1" * 30_000, ENTER, "pending", ENTER)

    assert lines[-1] == b"pending"


# -- nothing is lost between prompts ----------------------------------------------------------


async def test_ctrl_d_and_ctrl_c_count_while_something_is_printed_above_the_prompt(
    desk: Desk,
) -> None:
    next_line = await desk.asked()
    context = desk.keyboard._session.app.context
    assert context is not None

    async def printed() -> None:
        async with in_terminal():
            assert not desk.modes & (termios.ICANON | termios.ISIG | termios.ECHO)
            desk.press("freeze dr" + CTRL_C + CTRL_D)

    await asyncio.create_task(printed(), context=context.copy())

    assert await asyncio.wait_for(next_line, 20) is None


async def test_between_two_prompts_ctrl_d_stays_a_key_and_ctrl_c_is_a_signal(desk: Desk) -> None:
    before = desk.modes
    asking = await desk.asked()
    desk.press("pending" + ENTER)
    assert await asyncio.wait_for(asking, 20) == b"pending"

    assert not desk.modes & (termios.ICANON | termios.ECHO)
    assert desk.modes & termios.ISIG
    desk.press(CTRL_D)
    assert await asyncio.wait_for(desk.keyboard.next(), 20) is None
    desk.keys.release()
    assert desk.modes == before


# -- a process that is told to end ------------------------------------------------------------

CUT_SHORT = """
import asyncio, sys
from pathlib import Path
from bot.chat.terminal.client import standard_input
from bot.process.cut_short import cut_short

async def main():
    with standard_input(Path(sys.argv[1]), print) as keyboard:
        await keyboard.next()
        cut_short(1)

asyncio.run(main())
"""


async def test_a_process_that_is_cut_short_leaves_the_terminal_as_it_was(tmp_path: Path) -> None:
    """Whoever typed next at that shell did not see what they typed."""
    hand, terminal = pty.openpty()
    before = termios.tcgetattr(terminal)
    os.write(hand, b"pending\n")
    argv = [sys.executable, "-c", CUT_SHORT, str(tmp_path / "history")]

    ran = await asyncio.create_subprocess_exec(*argv, stdin=terminal, stdout=DEVNULL, cwd=ROOT)
    code = await asyncio.wait_for(ran.wait(), 60)

    after = termios.tcgetattr(terminal)
    os.close(hand)
    os.close(terminal)
    assert (code, after) == (1, before)


async def test_a_prompt_leaves_signals_to_whoever_hears_them_while_the_loop_is_held_up(
    desk: Desk,
) -> None:
    """SIGTERM ended nothing as long as a tool held up the loop right behind a prompt."""
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGTERM, lambda: None)
    ended = threading.Event()
    try:
        with ended_by_signals(ended.set):
            asking = await desk.asked()
            desk.press("pending" + ENTER)
            await asyncio.wait_for(asking, 20)

            os.kill(os.getpid(), signal.SIGTERM)
            heard = ended.wait(5)  # the loop is held up meanwhile
    finally:
        loop.remove_signal_handler(signal.SIGTERM)

    assert heard


# -- what is shown and remembered -------------------------------------------------------------


@pytest.mark.parametrize("column", [0, 5_000, 50_000])
def test_of_a_long_line_the_part_around_the_cursor_is_shown(column: int) -> None:
    text = "".join(f"{number:05}" for number in range(10_000))
    document = Document(text, column)
    given = TransformationInput(BufferControl(), document, 0, lambda at: at, [("", text)], 80, 24)

    made = ShownPart().apply_transformation(given)

    shown = fragment_list_to_text(made.fragments)
    assert len(shown) < 2_010
    at = made.source_to_display(column)
    assert text[column : column + 9] == shown[at : at + 9].rstrip("…")
    assert made.display_to_source(at) == column


def test_no_more_marks_are_piled_on_a_character_than_can_be_drawn_cheaply() -> None:
    text = "e" + "\u0301" * 1_000 + " שלום \u202eabc ✅"
    document = Document(text)
    given = TransformationInput(BufferControl(), document, 0, lambda at: at, [("", text)], 80, 24)

    shown = fragment_list_to_text(ShownPart().apply_transformation(given).fragments)

    assert len(shown) == len(text)
    assert shown.count("\u0301") < 20
    assert shown.endswith(" שלום \u202eabc ✅")


async def test_of_a_long_history_the_newest_entries_are_read(tmp_path: Path) -> None:
    kept = "".join(f"\n# 2026-03-01\n+line {number}\n+more\n" for number in range(100_000))
    (tmp_path / "history").write_text(kept)
    with a_terminal_of_its_own() as (_, keys):
        history = Keyboard(tmp_path / "history", print, keys)._session.history

        read = [entry async for entry in history.load()]
        history.append_string("pending")
        history.append_string("x" * 20_000)

    assert read[:2] == ["line 99999\nmore", "line 99998\nmore"]
    assert len(read) == len(history.get_strings()) == 1_000
    assert history.get_strings()[-1] == "pending"
