"""Runs a terminal over a pipe that a test writes into."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from bot.chat.terminal.lines import Lines
from tests.terminal import Terminal


@dataclass
class Pipe:
    """A pipe that somebody writes into, and who waits for what is printed."""

    terminal: Terminal
    sink: int

    async def send(self, text: str) -> None:
        await asyncio.to_thread(write_all, self.sink, text.encode())

    async def said(self, words: str) -> str:
        """Wait for a line with these words."""
        async with asyncio.timeout(20):
            while True:
                found = [line for line in self.terminal.printed if words in line]
                if found:
                    return found[0]
                await asyncio.sleep(0.01)


@asynccontextmanager
async def piped(terminal: Terminal) -> AsyncIterator[Pipe]:
    """Run the terminal over a pipe, to its end."""
    source, sink = os.pipe()
    lines = Lines(source, lambda words: print(words, file=terminal.paper))
    running = asyncio.create_task(terminal.client.run(lines))
    try:
        yield Pipe(terminal, sink)
    finally:
        os.close(sink)
        await asyncio.wait_for(running, 20)
        os.close(source)


def write_all(sink: int, data: bytes) -> None:
    left = memoryview(data)
    while left:
        left = left[os.write(sink, left) :]
