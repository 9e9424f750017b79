"""What is read at the terminal: lines of every length, fences, files and evidence from them."""

from __future__ import annotations

import asyncio
import errno
import json
import os
from pathlib import Path

import pytest

from bot.chat.terminal.documents import LONGEST_LINE, Heard
from bot.chat.terminal.lines import Lines
from lifecycle.freezing import frozen
from lifecycle.review import Decision
from lifecycle.state import State
from tests.builders import MAIL, NOW_MS, a_document
from tests.terminal import Lines as TypedLines
from tests.terminal import Terminal, a_terminal, documents

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


async def test_a_file_may_be_named_on_the_line_behind_its_command(tmp_path: Path) -> None:
    terminal = at_a_desk(tmp_path)
    await terminal.client.run(TypedLines(b"leila: propose", b"", b"@mail.json", b"pending"))

    printed = terminal.fresh()

    assert json.loads(printed[0])["state"] == "sentinel_approved"
    assert "1 pending" in printed


async def test_a_missing_file_is_named_and_a_large_one_never_read(tmp_path: Path) -> None:
    terminal = at_a_desk(tmp_path)
    (tmp_path / "big.json").write_bytes(b" " * 300_000)

    missing = documents(await terminal.types("leila: propose @nothing.json"))[0]
    big = documents(await terminal.types("leila: propose @big.json"))[0]
    device = documents(await terminal.types("leila: propose @/dev/zero"))[0]
    assert "There is no file 'nothing.json'" in missing["explanation"]
    assert big["reason"] == "too_large"
    assert "There is no file" in device["explanation"]


async def test_a_file_that_cannot_be_read_is_refused_with_the_cause_and_ends_nothing(
    tmp_path: Path,
) -> None:
    terminal = a_terminal(None, tmp_path)
    lines = [b"leila: propose @/proc/self/mem", b"crm-sensor: evidence @/proc/self/mem"]

    await terminal.client.run(TypedLines(*lines, b"leila: propose @.", b"pending"))

    proposed, folder = documents(terminal.printed)
    (observed,) = (each for each in terminal.printed if each.endswith("(malformed_json)"))
    assert proposed["reason"] == "malformed_json"
    for words in (proposed["explanation"], observed):  # words for whoever hands in evidence
        assert "'/proc/self/mem' cannot be read (Input/output error)" in words
    assert "There is no file '.'" in folder["explanation"]
    assert terminal.printed[-1] == "0 pending"


@pytest.mark.parametrize("line", ["propose examples/mail.json", "evidence  ../mail.json "])
async def test_the_name_of_a_file_without_its_sign_is_told_how_to_write_it(line: str) -> None:
    terminal = a_terminal()
    (told,) = await terminal.types(line)

    assert f"@{line.split()[1]}" in told
    assert [entry["reason"] for entry in await terminal.world.audit("refused")] == [
        "malformed_json"
    ]


async def test_a_file_of_somebody_else_is_refused_with_the_cause(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who runs this may be root, who reads everything."""
    terminal = at_a_desk(tmp_path)

    def forbidden(*_: object) -> None:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    for name in ("open", "stat"):
        with monkeypatch.context() as others:
            others.setattr(Path, name, forbidden)
            answer = documents(await terminal.types("leila: propose @mail.json"))[0]
        assert "'mail.json' cannot be read (Permission denied)" in answer["explanation"]


async def test_a_home_that_nobody_has_is_no_file(tmp_path: Path) -> None:
    terminal = at_a_desk(tmp_path)

    answer = documents(await terminal.types("leila: propose @~nobody-at-all/mail.json"))[0]
    assert "There is no file" in answer["explanation"]


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

    heard, found = Heard(Lines(reading, print)), []
    written = asyncio.get_running_loop().run_in_executor(None, write)
    try:
        while (said := await heard.next()) is not None:
            found.append(said.line)
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


@pytest.mark.parametrize("more", [0, 1, 200_000, 5_000_000])
@pytest.mark.parametrize("end", [b"\nnext\n", b"\r\nnext"])
async def test_a_line_without_end_does_not_fill_the_memory(more: int, end: bytes) -> None:
    found = await lines_of(b"a" * (LONGEST_LINE + more) + end)

    assert LONGEST_LINE <= len(found[0]) <= 2 * LONGEST_LINE
    assert found[1:] == [b"next"]


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


async def test_a_stop_counts_although_its_words_are_no_utf8() -> None:
    terminal = a_terminal()
    await terminal.proposes(MAIL, proposal_id="m1")

    await terminal.types("reject m1 trop élevé".encode("latin-1"))
    await terminal.types("freeze arrêt".encode("latin-1"))

    store = terminal.world.store
    (review,) = await store.read(lambda tx: tx.reviews.of("m1"))
    assert (review.decision, review.reason) == (Decision.REJECT, "trop \ufffdlev\ufffd")
    assert (await terminal.world.proposal("m1")).state is State.REJECTED
    assert await store.read(frozen) is not None
    assert "UTF-8" in (await terminal.types(b"thaw \xe9"))[0]
