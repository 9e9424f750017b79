"""A document that comes through a pipe, line by line: told of, given up, read once."""

from __future__ import annotations

import asyncio
import json
import os
import time

import pytest

from bot.chat.terminal import lines as reading
from bot.chat.terminal.documents import LONGEST_LINE, Heard
from bot.chat.terminal.lines import Lines
from tests.bot.chat.piping import piped, write_all
from tests.bot.chat.test_terminal_documents import NOT_CLOSED, PRETTY, one_open
from tests.builders import MAIL, a_document
from tests.terminal import documents


async def test_whoever_waits_for_the_answer_is_told_how_a_document_is_given_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(reading, "_PATIENCE_S", 0.05)
    terminal = await one_open()

    async with piped(terminal) as pipe:
        await pipe.send('leila: propose {"note": "\n')
        told = await pipe.said("A document was begun and is not closed")
        ending = told.rpartition(": ")[2]
        await pipe.send(f"approve d1\nend\nend 0123456789abcdef\n{ending}\nreject d1 honest\n")
        await pipe.said("d1 is rejected by ana")
        await pipe.send(f"leila: propose ```\n{ending}\nthaw\n")

    assert "The document was given up; nothing in it was read as a command." in terminal.printed
    assert "reviewed" not in await terminal.world.trail("d1")
    assert NOT_CLOSED in documents(terminal.printed)[-1]["explanation"]


async def test_a_document_that_comes_in_time_is_not_told_of() -> None:
    terminal = await one_open()

    async with piped(terminal) as pipe:
        for line in f"leila: propose\n{PRETTY}\n".splitlines(keepends=True):
            await pipe.send(line)
        await pipe.said('"s1"')

    assert not [line for line in terminal.printed if "not closed" in line]


async def test_a_line_longer_than_any_is_refused_as_too_large_and_the_next_one_is_heard() -> None:
    terminal = await one_open()
    long = json.dumps(a_document(MAIL, evidence="e\\" * LONGEST_LINE))

    async with piped(terminal) as pipe:
        await pipe.send(f"leila: propose {long}\nreject d1 honest\n")

    assert documents(terminal.fresh())[0]["reason"] == "too_large"
    assert (await terminal.world.proposal("d1")).explanation == "honest"


@pytest.mark.parametrize("line", ['"' * 60_001, '\\"' * 60_000, "{[" * 60_000, "\n" * 10_000])
async def test_a_long_document_is_looked_at_once(line: str) -> None:
    data = b"propose {" + (line.encode() + b"\n") * 30
    source, sink = os.pipe()
    written = asyncio.create_task(asyncio.to_thread(write_all, sink, data))
    written.add_done_callback(lambda _: os.close(sink))
    began_s = time.process_time()

    said = await Heard(Lines(source, print)).next()

    os.close(source)
    assert said is not None
    assert not said.closed
    assert len(said.line) < 2 * LONGEST_LINE
    assert time.process_time() - began_s < 20
