"""A mail server that says at each step of a talk what it is told to, or falls silent, or goes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

from tests.fakes.listening import accepting

#: In place of an answer: say nothing any more; cut the line.
SILENCE, GONE = "silence", "gone"
_POLITE = {"greeting": "220 hello", "DATA": "354 go on", "text": "250 taken"}
_END = b"\r\n.\r\n"


class Talk:
    """What was said to it, in order, and each text that came whole."""

    def __init__(self, answers: Mapping[str, str]) -> None:
        self._answers = answers
        self.steps: list[str] = []
        self.texts: list[bytes] = []

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        step = "greeting"
        try:
            while answer := await self._said(step, writer):
                if step == "DATA" and "354" in answer:
                    self.texts.append(await reader.readuntil(_END))
                    step = "text"
                    continue
                step = self._step((await reader.readuntil(b"\r\n")).decode("ascii"))
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    def _step(self, line: str) -> str:
        word = line[:4].strip()
        name = f"RCPT {sum(s.startswith('RCPT') for s in self.steps) + 1}"
        self.steps.append(name if word == "RCPT" else word)
        return self.steps[-1]

    async def _said(self, step: str, writer: asyncio.StreamWriter) -> str:
        """Answer; return what was said, empty where nothing follows."""
        answer = self._answers.get(step, _POLITE.get(step, "250 well"))
        if answer == SILENCE:
            await asyncio.Event().wait()
        if answer == GONE:
            return ""
        writer.write(answer.replace("\n", "\r\n").encode() + b"\r\n")
        return answer


@asynccontextmanager
async def talking(**answers: str) -> AsyncIterator[tuple[int, Talk]]:
    """Serve on loopback; yields the port and the talk. `RCPT_2` is the second recipient."""
    talk = Talk({step.replace("_", " "): answer for step, answer in answers.items()})
    async with accepting(talk.serve) as port:
        yield port, talk
