"""Cases J07 and O06: old and new instance overlap on one data folder."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.processes import DEADLINE_S, Process


@pytest.fixture
def newer(bot: Process) -> Iterator[Process]:
    """A second bot on the folder of the first."""
    made = Process(bot.folder)
    yield made
    made.close()


def refused(bot: Process) -> str:
    """Start a bot that must not run; return what it said."""
    before = len(bot.complaints())
    bot.start()
    assert bot.process is not None
    assert bot.process.wait(DEADLINE_S) == 1
    return bot.complaints()[before:]


def test_J07_a_second_process_on_the_same_folder_does_not_start(
    bot: Process, newer: Process
) -> None:
    bot.start()
    mail = bot.answer("leila: propose @examples/mail.json")["proposal_id"]

    said = refused(newer)

    assert "in use by process" in said
    assert "Traceback" not in said
    assert "Approved by ana" in str(bot.ask(f"approve {mail}"))
    assert bot.beside("propose", "examples/mail.json", "--as", "leila").returncode == 1
    assert bot.end_of_input() == 0


def test_J07_once_the_first_has_gone_the_second_goes_on_where_it_was(
    bot: Process, newer: Process
) -> None:
    bot.start()
    dual = bot.answer("leila: propose @examples/deploy-dual.json")["proposal_id"]
    bot.ask(f"approve {dual}")
    refused(newer)
    bot.kill()

    newer.start()
    assert "2 of 2" in str(newer.ask(f"ben: approve {dual}"))
    assert newer.end_of_input() == 0


def test_O06_an_overlap_is_one_proposal_one_card_one_execution_and_one_end(
    bot: Process, newer: Process
) -> None:
    bot.start()
    deploy = bot.answer("leila: propose @examples/deploy-production.json")["proposal_id"]
    for _ in range(2):
        refused(newer)
    bot.ask(f"approve {deploy}")
    refused(newer)
    assert bot.end_of_input() == 0

    newer.start()
    assert "0 pending" in newer.ask("pending")
    assert newer.end_of_input() == 0
    entries = [json.loads(line) for line in newer.beside("audit", "export").stdout.splitlines()]
    kinds = [entry["kind"] for entry in entries if entry["proposal_id"] == deploy]
    assert [kinds.count(kind) for kind in ("submitted", "execute", "complete")] == [1, 1, 1]
    live = Path(bot.folder / "data" / "sites" / "www.shop.example.json")
    assert json.loads(live.read_text())["proposal_id"] == deploy
