"""A document that takes several lines is one command; nothing inside it is another's."""

from __future__ import annotations

import asyncio
import json
import os
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import pytest

from bot.chat.terminal import lines as reading
from bot.chat.terminal.documents import LONGEST_LINE, Heard
from bot.chat.terminal.lines import Lines
from bot.chat.terminal.unclosed import Unclosed
from tests.builders import MAIL, NOW_MS, PROD, a_document
from tests.terminal import SEARCH, Terminal, a_terminal, documents
from tests.terminal import Lines as TypedLines

PRETTY = json.dumps(SEARCH | {"ts_ms": NOW_MS}, indent=1)
COMPACT = json.dumps(SEARCH | {"ts_ms": NOW_MS})
NOT_CLOSED = "nothing behind it was read as a command"


async def one_open() -> Terminal:
    """d1 waits for a person."""
    terminal = a_terminal()
    await terminal.proposes(PROD, proposal_id="d1")
    terminal.fresh()
    return terminal


async def typed(terminal: Terminal, text: str) -> list[str]:
    """Give the lines of a text, to the end of the input, and return what is printed."""
    await terminal.client.run(TypedLines(*text.encode().split(b"\n")))
    return terminal.fresh()


# -- what is one document -----------------------------------------------------------------------


@pytest.mark.parametrize(
    "proposing",
    [
        f"leila: propose {PRETTY}",
        f"leila: propose\n{PRETTY}",
        f"leila: propose\n\n  \n{PRETTY}",
        f"leila: propose {COMPACT}",
        f"leila: propose ```{COMPACT}```",
        f"leila:propose{PRETTY}",
        f"\ufeffleila: PROPOSE {PRETTY}",
        f"leila: propose ```json\n{PRETTY}\n```",
        f"leila: propose\n```json\n{PRETTY}\n```",
        f"leila: propose\n```\n{COMPACT}\n```",
        f"leila: propose `\n{PRETTY}`",
    ],
)
async def test_a_document_of_several_lines_is_one_command_and_what_surrounds_it_others(
    proposing: str,
) -> None:
    terminal = await one_open()

    lines = await typed(terminal, f"pending\n{proposing}\nreject d1 wrong")

    states = [(each["proposal_id"], each["state"]) for each in documents(lines)]
    assert states == [("s1", "completed"), ("d1", "rejected")]
    assert lines[0] == "1 pending"


async def test_evidence_may_take_several_lines_too() -> None:
    packet = {"evidence_id": "e1", "source": "crm-sensor", "observed_at_ms": NOW_MS, "payload": {}}
    written = json.dumps(packet, indent=2)

    lines = await typed(await one_open(), f"crm-sensor: evidence {written}\npending")

    assert lines == ["Evidence e1 is recorded.", *lines[1:]]
    assert lines[1] == "1 pending"


@pytest.mark.parametrize("after", ["pending", "# a comment\n\npending"])
async def test_a_command_that_stands_alone_takes_no_line_that_is_no_document(after: str) -> None:
    terminal = await one_open()

    lines = await typed(terminal, f"leila: propose\n{after}\nleila: propose")

    assert [each["reason"] for each in documents(lines)] == ["malformed_json"] * 2
    assert "1 pending" in lines


async def test_text_in_braces_behind_any_other_command_takes_no_further_line() -> None:
    terminal = await one_open()

    await typed(terminal, "# leila: propose {\nshow {\nfreeze {drill\nreject d1 { no")

    assert (await terminal.world.proposal("d1")).explanation == "{ no"


@pytest.mark.parametrize("document", ['{"a": "x', "[[[", '{"a": {', "{'a': 'it\"s'}", "`{", '"'])
def test_a_document_stays_open_until_all_of_it_is_closed(document: str) -> None:
    assert Unclosed(document).open


@pytest.mark.parametrize(
    "text",
    [
        PRETTY,
        json.dumps({"a": '"}]\\', "b\\": ["\\\\", '{"', "`"], "c": {"\n": [[], {}]}}, indent=2),
        '{"a": "\\\\",\n"b": "\\"}",\n"c": "\\u007b"}',
        "```json\n{}\n``\n```",
        "`{\n}`",
    ],
)
def test_a_document_is_closed_with_its_last_character_in_whichever_parts_it_comes(
    text: str,
) -> None:
    for size in (1, 2, 3, 7, len(text)):
        found, parts = Unclosed(text[0:3]), [text[3:][at : at + size] for at in range(0, 900, size)]
        for number, part in enumerate(filter(None, parts)):
            assert found.open, (size, number)
            found.feed(part)
        assert not found.open


# -- what somebody writes into a document -------------------------------------------------------

HOSTILE = [
    '{\n "justification": "please look at\nAPPROVE\nthanks"\n}',
    '{"note": "\nAPPROVE\n"}',
    '{"note": "\\\nAPPROVE\n"}',
    '{"note": "\n\n\nAPPROVE\n"}',
    '{"note": "\nana: APPROVE\n"}',
    "{\nAPPROVE\n}",
    "[\nAPPROVE\n]",
    '"\nAPPROVE\n"',
    "```\n{}\nAPPROVE\n```",
    "`\nAPPROVE\n`",
    '\n{"note": "\nAPPROVE\n"}',
    "\n```\nAPPROVE\n```",
    '{"note": "' + "x" * 300_000 + '\nAPPROVE\n"}',
    '{"note": "' + "x" * (LONGEST_LINE + 70_000) + '\nAPPROVE\n"}',
    " " * (LONGEST_LINE + 70_000) + '{"note": "\nAPPROVE\n"}',
    "\u200b" * LONGEST_LINE + '{"note": "\nAPPROVE\n"}',
]


@pytest.mark.parametrize("document", HOSTILE, ids=range(len(HOSTILE)))
@pytest.mark.parametrize("speaker", ["leila: ", "", "zoe: "])
async def test_no_line_inside_a_document_is_a_command_and_the_next_one_behind_it_is(
    document: str, speaker: str
) -> None:
    terminal = await one_open()
    text = f"{speaker}propose {document.replace('APPROVE', 'approve d1')}\nreject d1 honest\n"

    async with piped(terminal) as pipe:
        await pipe.send(text)

    lines = terminal.fresh()
    assert "reviewed" not in await terminal.world.trail("d1")
    assert (await terminal.world.proposal("d1")).explanation == "honest"
    assert documents(lines)[0]["state"] is None


@pytest.mark.parametrize("unseen", ["\u200b", "\ufeff\ufeff", "\u3164", "\ufe0f", "\u2800", "\x7f"])
@pytest.mark.parametrize(
    "proposing",
    [
        *("leila: propose {}", "leila: propose\n{}", "leila: propose {}\n", "leila: propose\n{}\n"),
        *("leila: propose{}", "leila: {}propose ", "leila: {} propose ", "{} leila: propose "),
    ],
)
async def test_whoever_puts_what_nobody_sees_before_a_document_makes_no_line_of_it_a_command(
    proposing: str, unseen: str
) -> None:
    """Its lines counted as typed by the person who pasted it, and approved in their name."""
    terminal = await one_open()
    document = '{\n"note": "\napprove d1\n"}'
    await typed(terminal, f"{proposing.format(unseen)}{document}\nreject d1 honest")

    assert "reviewed" not in await terminal.world.trail("d1")
    assert (await terminal.world.proposal("d1")).explanation == "honest"


@pytest.mark.parametrize(
    "proposing",
    [
        *("!propose ", "leila: !propose\n", "/propose ", "!PROPOSE", "/signoff propose "),
        *("/signoff propose\n", "signoff propose "),
    ],
)
async def test_a_document_behind_a_command_as_another_chat_has_it_makes_no_line_of_it_a_command(
    proposing: str,
) -> None:
    """It was copied from Discord, or typed as one types it there."""
    terminal = await one_open()
    document = '{\n"note": "\napprove d1\n"}'
    await typed(terminal, f"{proposing}{document}\nreject d1 honest")

    assert "reviewed" not in await terminal.world.trail("d1")
    assert (await terminal.world.proposal("d1")).explanation == "honest"


async def test_a_line_that_names_the_bot_again_and_again_is_refused_as_any_other() -> None:
    """A thousand times, and the terminal was dead."""
    terminal = await one_open()
    await typed(terminal, f"{'signoff ' * 5_000}\nreject d1 honest")

    assert (await terminal.world.proposal("d1")).explanation == "honest"


@pytest.mark.parametrize("document", ['{"a": "', "{", "[{", '"', "```", "`", '\n{"', "\n```"])
async def test_nothing_behind_a_document_that_is_never_closed_is_a_command_and_that_is_said(
    document: str,
) -> None:
    terminal = await one_open()

    lines = await typed(terminal, f"leila: propose {document}\n\napprove d1\nana: approve d1")

    (answer,) = documents(lines)
    assert "reviewed" not in await terminal.world.trail("d1")
    assert answer["reason"] == "malformed_json"
    assert NOT_CLOSED in answer["explanation"]
    refused = await terminal.world.audit("refused")
    assert [entry["reason"] for entry in refused] == ["malformed_json"]


async def test_evidence_that_is_never_closed_is_refused_in_words() -> None:
    lines = await typed(await one_open(), "crm-sensor: evidence {\nfreeze now")

    assert NOT_CLOSED in lines[0]
    assert len(lines) == 1


async def test_a_stranger_whose_document_is_never_closed_is_a_stranger() -> None:
    lines = await typed(await one_open(), "zoe: propose {\napprove d1")

    assert [each["reason"] for each in documents(lines)] == ["unknown_agent"]


# -- through a pipe -----------------------------------------------------------------------------


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
