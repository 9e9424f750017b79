"""`audit export` of a long trail: who waits for it sees how far it is, and the lines stay whole."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from bot.storage import open_store
from bot.storage.connection import open_plain
from bot.storage.queries import PRAGMAS
from lifecycle.audit import AuditEvent
from lifecycle.moment import rfc3339
from lifecycle.ports import Transaction
from lifecycle.proposal import SENTINEL
from tests.bot.cli_house import House
from tests.fakes.clock import NOON_MS

LONG = 1_200


@pytest.fixture
async def told(house: House) -> House:
    """A house whose trail has some entries."""
    (house.folder / "data").mkdir()
    store = await open_store("sqlite:///data/signoff.db", house.folder)

    def unit(tx: Transaction) -> None:
        for _ in range(LONG):
            at = rfc3339(NOON_MS)
            tx.audit.append(AuditEvent(at=at, kind="refused", actor=SENTINEL, reason="too_large"))

    await store.write(unit)
    await store.close()
    return house


def exported(house: House, root: Path, out: int) -> tuple[int, str]:
    """Export with a terminal behind standard error; return the exit code and what stands there."""
    seen, screen = pty.openpty()
    try:
        done = subprocess.run(
            [sys.executable, "-m", "bot", "audit", "export"],
            cwd=house.folder,
            env={**os.environ, "PYTHONPATH": str(root), "TERM": "xterm"},
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=screen,
            timeout=60,
            check=False,
        )
        os.set_blocking(seen, False)
        return done.returncode, os.read(seen, 1 << 20).decode()
    finally:
        os.close(screen)
        os.close(seen)


def test_an_export_into_a_file_shows_on_the_terminal_how_far_it_is(told: House, root: Path) -> None:
    """Five million entries took two and a half minutes without a word."""
    file = told.folder / "trail.jsonl"
    with file.open("wb") as out:
        code, shown = exported(told, root, out.fileno())

    assert code == 0
    assert "Writing the trail out" in shown
    assert "1000/?" in shown
    lines = file.read_text().splitlines()
    assert [json.loads(line)["seq"] for line in lines] == list(range(1, LONG + 1))


def test_an_export_that_nobody_reads_on_lets_the_bot_fold_its_side_file(
    told: House, root: Path
) -> None:
    """`signoff audit export | less`, left open: the `-wal` of the bot grew by all that was written
    for as long as it stood there."""
    with subprocess.Popen(
        [sys.executable, "-m", "bot", "audit", "export"],
        cwd=told.folder,
        env={**os.environ, "PYTHONPATH": str(root)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as waiting:
        assert waiting.stdout is not None
        begun = json.loads(waiting.stdout.readline())
        with closing(open_plain(told.folder / "data/signoff.db", writing=True)) as plain:
            plain.execute("INSERT INTO flags VALUES ('later', '1')")
            busy, _, _ = plain.execute(PRAGMAS["empty_wal"]).fetchone()
        rest = waiting.stdout.read().splitlines()

    assert busy == 0
    assert [begun["seq"], *(json.loads(line)["seq"] for line in rest)] == list(range(1, LONG + 1))
