"""What is read at the terminal: lines of every length, fences, files and evidence from them."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path

import pytest

from bot.chat.terminal.lines import LONGEST_LINE, Lines
from tests.builders import MAIL, NOW_MS, PROD, a_document
from tests.terminal import SEARCH, Terminal, a_terminal, documents
from tests.terminal import Lines as TypedLines

# -- files ------------------------------------------------------------------------------------


def at_a_desk(folder: Path, **document: object) -> Terminal:
    file = a_document(MAIL, **({"proposal_id": "@new", "ts_ms": "@now"} | document))
    (folder / "mail.json").write_text(json.dumps(file))
    return a_terminal(None, folder)


async def test_a_file_is_filled_with_a_new_id_and_the_time(tmp_path: Path) -> None:
    terminal = at_a_desk(tmp_path)
    first = documents(await terminal.types("leila: propose @mail.json"))[0]
    second = documents(await terminal.types("leila: propose @mail.json"))[0]

    assert first["proposal_id"].startswith("mail-")
    assert first["state"] == "sentinel_approved"
    assert second["deduplicated"] is True


async def test_a_missing_file_is_named_and_a_large_one_never_read(tmp_path: Path) -> None:
    terminal = at_a_desk(tmp_path)
    (tmp_path / "big.json").write_bytes(b" " * 300_000)

    missing = documents(await terminal.types("leila: propose @nothing.json"))[0]
    big = documents(await terminal.types("leila: propose @big.json"))[0]
    device = documents(await terminal.types("leila: propose @/dev/zero"))[0]
    assert "There is no file 'nothing.json'" in missing["explanation"]
    assert big["reason"] == "too_large"
    assert "There is no file" in device["explanation"]


async def test_evidence_may_come_from_a_file(tmp_path: Path) -> None:
    terminal = at_a_desk(tmp_path)
    packet = {"evidence_id": "e1", "source": "crm-sensor", "observed_at_ms": NOW_MS, "payload": {}}
    (tmp_path / "stock.json").write_text(json.dumps(packet))

    assert await terminal.types("crm-sensor: evidence @stock.json") == ["Evidence e1 is recorded."]
    assert "never from agents" in (await terminal.types("leila: evidence @stock.json"))[0]


# -- reading ----------------------------------------------------------------------------------


async def lines_of(data: bytes) -> list[bytes]:
    reading, writing = os.pipe()

    def write() -> None:
        with os.fdopen(writing, "wb") as pipe:
            pipe.write(data)

    lines, found = Lines(reading), []
    written = asyncio.get_running_loop().run_in_executor(None, write)
    try:
        while (line := await lines.next()) is not None:
            found.append(line)
        await written
    finally:
        os.close(reading)
    return found


@pytest.mark.parametrize(
    ("data", "lines"),
    [
        (b"", []),
        (b"one\ntwo\n", [b"one", b"two"]),
        (b"one\r\ntwo\r\n", [b"one", b"two"]),
        (b"one\n\nlast without an end", [b"one", b"", b"last without an end"]),
        (b"\xff\xfe\n", [b"\xff\xfe"]),
        (b"a" * 300_000 + b"\nnext\n", [b"a" * 300_000, b"next"]),
    ],
)
async def test_lines_are_given_one_by_one(data: bytes, lines: list[bytes]) -> None:
    assert await lines_of(data) == lines


async def test_a_line_without_end_does_not_fill_the_memory() -> None:
    found = await lines_of(b"a" * (LONGEST_LINE + 200_000) + b"\nnext\n")

    assert len(found[0]) == LONGEST_LINE
    assert found[1] == b"next"


async def test_a_document_of_256_kib_fits_a_line_and_a_larger_one_is_too_large() -> None:
    terminal = a_terminal()
    document = json.dumps(a_document(MAIL, evidence="@"))
    room = 256 * 1024 - len(document)

    fits, larger = (document.replace('"@"', f'"{"e" * (room + more + 1)}"') for more in (0, 1))
    assert len(fits) == 256 * 1024
    assert documents(await terminal.types(f"leila: propose {fits}"))[0]["reason"] != "too_large"
    assert documents(await terminal.types(f"leila: propose {larger}"))[0]["reason"] == "too_large"


async def test_the_client_answers_every_line_and_returns_at_the_end() -> None:
    terminal = a_terminal()
    await terminal.client.run(TypedLines(b"pending", b"", b"help pending"))

    assert terminal.printed[0] == "0 pending"
    assert terminal.printed[1].startswith("pending [page]")


@pytest.mark.parametrize("line", ["", "   ", "# a comment", "\ufeff"])
async def test_nothing_is_said_to_an_empty_line_or_a_comment(line: str) -> None:
    assert await a_terminal().types(line) == []


async def test_bytes_that_are_no_utf8_are_answered() -> None:
    terminal = a_terminal()

    assert "UTF-8" in (await terminal.types(b"approve \xff"))[0]
    answer = documents(await terminal.types(b'leila: propose {"a":"\xff"}'))[0]
    assert answer["reason"] == "invalid_unicode"


async def test_a_fenced_document_of_several_lines_is_one_command() -> None:
    terminal = a_terminal()
    fenced = json.dumps(SEARCH | {"ts_ms": NOW_MS}, indent=1).encode().split(b"\n")

    await terminal.client.run(
        TypedLines(b"leila: propose ```json", *fenced, b"```", b"leila: propose ```{}```")
    )

    assert [each["proposal_id"] for each in documents(terminal.fresh())] == ["s1", None]


async def test_nothing_inside_a_fence_is_a_command_even_if_it_is_never_closed() -> None:
    terminal = a_terminal()
    await terminal.proposes(PROD, proposal_id="p1")
    terminal.fresh()

    await terminal.client.run(TypedLines(b"leila: propose ```", b"{", b"approve p1"))

    lines = terminal.fresh()
    assert [each["reason"] for each in documents(lines)] == ["malformed_json"]
    assert "reviewed" not in await terminal.world.trail("p1")
