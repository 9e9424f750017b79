"""Cases J07 and O06: old and new instance overlap on one data folder."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from bot.storage.lock import FileLock
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


def test_J07_a_window_that_ends_while_another_tries_to_start_closes_once(
    bot: Process, newer: Process
) -> None:
    config = bot.folder / "config.yaml"
    text = config.read_text()
    assert text.count("window_s: 900 ") == 1
    config.write_text(text.replace("window_s: 900 ", "window_s: 2 "))
    bot.start()
    deploy = str(bot.answer("leila: propose @examples/deploy-production.json")["proposal_id"])
    mail = str(bot.answer("leila: propose @examples/mail.json")["proposal_id"])
    paper = bot.ask(f"approve {mail}")

    refused(newer)
    paper += bot.ask(f"approve {deploy}")
    for _ in range(100):
        if state(bot, mail) == "completed":
            break
    refused(newer)
    paper += bot.ask("status")

    assert (state(bot, mail), state(bot, deploy)) == ("completed", "completed")
    entries = [json.loads(line) for line in bot.beside("audit", "export").stdout.splitlines()]
    for proposal_id in (mail, deploy):
        kinds = [entry["kind"] for entry in entries if entry["proposal_id"] == proposal_id]
        assert [kinds.count(kind) for kind in ("execute", "complete")] == [1, 1]
    ends = [card for card in cards(paper, mail) if "completed (window_closed_unopposed)" in card]
    assert len(ends) == 1
    sent = [path for path in (bot.folder / "data" / "outbox").rglob("*") if path.is_file()]
    assert len(sent) == 1
    assert bot.end_of_input() == 0


def state(bot: Process, proposal_id: str) -> object:
    return json.loads(bot.beside("--json", "show", proposal_id).stdout)["state"]


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


def test_J07_a_lock_file_that_was_removed_by_hand_still_keeps_a_second_one_out(
    bot: Process, newer: Process
) -> None:
    bot.start()
    bot.ask("status")
    lock = bot.folder / "data" / "signoff.db.lock"

    lock.unlink()
    for _ in range(100):
        if lock.exists():
            break
        bot.beside("status")

    assert "in use by process" in refused(newer)
    assert "is made again" in bot.complaints()
    status = json.loads(bot.beside("--json", "status").stdout)
    assert (status["running"], status["config"]["is_this"]) == (True, True)
    assert bot.end_of_input() == 0


def test_J07_a_bot_whose_place_was_taken_ends_before_both_act(bot: Process) -> None:
    bot.start()
    bot.ask("status")
    (bot.folder / "data" / "signoff.db.lock").unlink()
    other = FileLock(bot.folder / "data" / "signoff.db")
    other.take()

    assert bot.ends_within(DEADLINE_S) == 1

    other.release()
    assert "another one began: this one ends" in bot.complaints()
    assert "Traceback" not in bot.complaints()


def test_a_database_that_was_moved_away_is_told_and_nothing_is_approved(bot: Process) -> None:
    bot.start()
    mail = str(bot.answer("leila: propose @examples/mail.json")["proposal_id"])
    there = bot.folder / "data" / "signoff.db"

    away = there.rename(there.with_name("away.db"))
    assert "was moved, removed or exchanged" in str(bot.ask(f"approve {mail}"))
    frozen = bot.beside("freeze", "incident 7", "--as", "ana")
    status = bot.beside("status").stdout
    away.rename(there)

    assert frozen.returncode == 1
    assert "any more, although process" in frozen.stderr
    assert "any more, although process" in status
    assert "was moved, removed or exchanged" in status
    assert "Approved by ana: 1 of 1" in str(bot.ask(f"approve {mail}"))
    assert bot.end_of_input() == 0


def expiring(bot: Process, seconds: int) -> None:
    """Shorten the time that people have."""
    config = bot.folder / "config.yaml"
    text = config.read_text()
    assert text.count("proposal_ttl_s: 86400") == 1
    config.write_text(text.replace("proposal_ttl_s: 86400", f"proposal_ttl_s: {seconds}"))


def proposed(bot: Process, example: str, paper: list[str]) -> str:
    """Propose an example, keep what was printed for it and return its id."""
    lines = bot.ask(f"leila: propose @examples/{example}.json")
    paper += lines
    return str(json.loads(next(line for line in lines if line.startswith("{")))["proposal_id"])


def expired(bot: Process, proposal_id: str) -> bool:
    """Wait until the trail tells that the proposal expired; `show` says so at its deadline."""
    trails = (bot.beside("audit", "export").stdout.splitlines() for _ in range(100))
    return any(proposal_id in entry and "expired" in entry for trail in trails for entry in trail)


def cards(paper: list[str], proposal_id: str) -> list[str]:
    """Return what was printed as the card of a proposal, one text a version."""
    blocks = "\n".join(paper).split("🔔 PROPOSAL")[1:]
    return [block for block in blocks if f"\n  {proposal_id} · sha256:" in block]


def version(card: str) -> str:
    return card.split(" · version ")[1].split()[0]


def test_O06_an_overlap_is_one_proposal_one_card_one_execution_and_one_end(
    bot: Process, newer: Process
) -> None:
    expiring(bot, 2)
    bot.start()
    paper: list[str] = []
    deploy, mail = proposed(bot, "deploy-production", paper), proposed(bot, "mail", paper)
    for _ in range(2):
        refused(newer)
    paper += bot.ask(f"approve {deploy}")
    refused(newer)
    assert expired(bot, mail)
    paper += bot.ask("pending")
    assert bot.end_of_input() == 0

    newer.start()
    paper_of_newer = newer.ask("pending")
    assert "0 pending" in paper_of_newer
    assert newer.end_of_input() == 0
    for proposal_id in (deploy, mail):
        shown = cards(paper, proposal_id)
        assert len([card for card in shown if "waits for people" in card]) == 1
        assert len({version(card) for card in shown}) == len(shown)
        assert cards(paper_of_newer, proposal_id) == []
    entries = [json.loads(line) for line in newer.beside("audit", "export").stdout.splitlines()]
    kinds = [entry["kind"] for entry in entries if entry["proposal_id"] == deploy]
    assert [kinds.count(kind) for kind in ("submitted", "execute", "complete")] == [1, 1, 1]
    ends = [entry["reason"] for entry in entries if entry["proposal_id"] == mail and entry["to"]]
    assert ends == [None, None, "expired"]
    live = Path(bot.folder / "data" / "sites" / "www.shop.example.json")
    assert json.loads(live.read_text())["proposal_id"] == deploy
