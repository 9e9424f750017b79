"""The main job from end to end: `signoff run` with the shipped config, fed through a pipe."""

from __future__ import annotations

import json
import re
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.processes import Process


def propose(bot: Process, example: str) -> str:
    """Propose an example in leila's name and return its id."""
    answer = bot.answer(f"leila: propose @examples/{example}.json")
    return str(answer["proposal_id"])


def said(bot: Process, line: str) -> str:
    """Type a line and return what was printed for it."""
    return "\n".join(bot.ask(line))


def show(bot: Process, proposal_id: str) -> dict[str, object]:
    done = bot.beside("--json", "show", proposal_id)
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout))


def state(bot: Process, proposal_id: str) -> tuple[object, object]:
    shown = show(bot, proposal_id)
    return shown["state"], shown["reason"]


def files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


ANSWERS = {
    "search": ("completed", "AUTO", "tool_succeeded"),
    "tracker": ("completed", "AUTO+", "tool_succeeded"),
    "mail": ("sentinel_approved", "PROPOSE", None),
    "mail-prohibited": ("rejected", "PROPOSE", "prohibited_content"),
    "deploy-staging": ("sentinel_approved", "PROPOSE", None),
    "deploy-production": ("sentinel_approved", "CONFIRM", None),
    "delete-data": ("sentinel_approved", "CONFIRM", None),
    "transfer": ("rejected", "BLOCK", "tool_blocked"),
}


def test_each_example_shows_its_tier_and_everything_that_runs_leaves_a_trace(
    bot: Process,
) -> None:
    bot.start()
    for example, expected in ANSWERS.items():
        answer = bot.answer(f"leila: propose @examples/{example}.json")
        assert (answer["state"], answer["tier"], answer["reason"]) == expected, example
        assert "→ pending" in said(bot, f"audit {answer['proposal_id']}")

    assert "4 pending" in bot.ask("pending")
    assert bot.end_of_input() == 0
    assert "Traceback" not in bot.complaints()
    assert bot.beside("audit", "verify").returncode == 0


def test_the_card_that_the_readme_shows_is_the_one_that_is_printed(bot: Process) -> None:
    def blurred(text: str) -> str:
        """Leave out what differs from one mail to the next."""
        return re.sub(r"mail-[0-9a-f]{8}|sha256:[0-9a-f]{64}|(?<=Deadline: ).*", "…", text)

    bot.start()
    printed = said(bot, "leila: propose @examples/mail.json")
    readme = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
    card = re.search(r"^```\n(🔔.*?)\n```", readme, re.DOTALL | re.MULTILINE)

    assert card is not None
    assert blurred(card[1]) in blurred(printed)


def test_what_is_proposed_can_be_followed_to_a_trail_that_can_be_checked(
    bot: Process,
) -> None:
    bot.start()
    mail, dual = propose(bot, "mail"), propose(bot, "deploy-dual")
    assert any(mail in line for line in bot.ask("pending"))
    assert any("Invoice 2847" in line for line in bot.ask(f"show {mail[:6]}"))
    explained = said(bot, f"explain {mail}")
    assert "prohibited_content" in explained
    assert "change_window_open" in explained

    assert "Approved by ana: 1 of 1." in said(bot, f"approve {mail}")
    assert len(files(bot.folder / "data" / "drafts")) == 1
    bot.ask(f"reject {mail} wrong amount")
    assert state(bot, mail) == ("rolled_back", "rolled_back_by_person")
    assert files(bot.folder / "data" / "drafts") == []
    assert files(bot.folder / "data" / "outbox") == []

    assert "1 of 2" in said(bot, f"approve {dual}")
    assert state(bot, dual)[0] == "sentinel_approved"
    assert "2 of 2" in said(bot, f"ben: approve {dual}")
    assert state(bot, dual) == ("completed", "tool_succeeded")
    site = bot.folder / "data" / "sites" / "www.shop.example.json"
    assert json.loads(site.read_text())["version"] == "2.5.0"
    trail = said(bot, f"audit {dual}")
    for step in ("→ pending", "→ executing", "→ completed", "person ana", "person ben"):
        assert step in trail

    assert bot.end_of_input() == 0
    assert bot.beside("audit", "verify").returncode == 0


def test_a_deletion_needs_a_person_and_then_deletes(bot: Process) -> None:
    bot.start()
    propose(bot, "tracker")
    records = bot.folder / "data" / "records" / "leads-2024"
    assert records.exists()
    deletion = propose(bot, "delete-data")
    assert records.exists()
    assert "Only people" in said(bot, f"cal: approve {deletion}")
    assert records.exists()

    bot.ask(f"approve {deletion}")

    assert state(bot, deletion) == ("completed", "tool_succeeded")
    assert files(records) == []


def short(bot: Process, seconds: int) -> None:
    """Shorten the window of mails."""
    config = bot.folder / "config.yaml"
    text = config.read_text()
    assert text.count("window_s: 900") == 1
    config.write_text(text.replace("window_s: 900", f"window_s: {seconds}"))


def test_a_window_closes_by_itself_and_the_mail_leaves(bot: Process) -> None:
    short(bot, 1)
    bot.start()
    mail = propose(bot, "mail")
    bot.ask(f"approve {mail}")
    outbox = bot.folder / "data" / "outbox"
    for _ in range(400):
        if state(bot, mail)[0] == "completed":
            break

    assert state(bot, mail) == ("completed", "window_closed_unopposed")
    (sent,) = files(outbox)
    assert b"pat@partner.example" in sent.read_bytes()
    late = said(bot, f"reject {mail} too late")
    assert state(bot, mail)[0] == "completed"
    assert "cannot be taken back" in late


def test_one_changed_byte_is_found_and_the_entry_is_named(bot: Process) -> None:
    bot.start()
    mail = propose(bot, "mail")
    bot.ask(f"approve {mail} looks fine")
    assert bot.end_of_input() == 0
    whole = bot.beside("audit", "verify")
    assert whole.returncode == 0, whole.stderr
    with closing(sqlite3.connect(bot.folder / "data" / "signoff.db")) as db, db:
        row = "SELECT seq FROM audit WHERE kind = 'reviewed'"
        (seq,) = db.execute(row).fetchone()
        change = "UPDATE audit SET details = replace(details, 'fine', 'fina') WHERE seq = ?"
        assert db.execute(change, (seq,)).rowcount == 1

    broken = bot.beside("audit", "verify")
    assert broken.returncode == 1
    assert f"entry {seq}:" in broken.stdout + broken.stderr


VALID = (
    '{"proposal_id":"%s","ts_ms":"@now","actor":"leila","tool":"send-email",'
    '"action_type":"communicate","target":{"resource_type":"mailbox","resource_id":"o",'
    '"domain":"shop.example","constraints":{}},"parameters":{"to":"pat@partner.example",'
    '"subject":"%s","body":"Hello"},"approval_class":"none",'
    '"justification":"Pat asked for the new payment terms"}'
)
HOSTILE = {
    "too_large": VALID % ("h1", "x" * 262_144),
    "too_deep": '{"proposal_id":' + "[" * 100_000 + "]" * 100_000 + "}",
    "non_finite_number": VALID.replace('"Hello"', "NaN") % ("h3", "s"),
    "duplicate_key": VALID.replace('"body"', '"to":"sam@partner.example","body"') % ("h4", "s"),
    "invalid_unicode": VALID.replace("Hello", r"\ud800") % ("h5", "s"),
}


@pytest.mark.parametrize("way", ["typed", "from a file"])
def test_hostile_documents_are_refused_and_leave_nothing_but_a_row_of_the_trail(
    bot: Process, way: str
) -> None:
    bot.start()
    for number, (code, document) in enumerate(HOSTILE.items()):
        (bot.folder / "hostile.json").write_text(document)
        line = "@hostile.json" if way == "from a file" else document
        answer = bot.answer(f"leila: propose {line}")
        assert (answer["reason"], answer["state"], answer["proposal_id"]) == (code, None, None)
        assert len(json.dumps(answer)) < 4_000
        (bot.folder / "next.json").write_text(VALID % (f"n{number}", f"Invoice {number}"))
        after = bot.answer("leila: propose @next.json")
        assert (after["state"], after["proposal_id"]) == ("sentinel_approved", f"n{number}")

    assert bot.end_of_input() == 0
    with closing(sqlite3.connect(bot.folder / "data" / "signoff.db")) as db, db:
        stored = db.execute("SELECT proposal_id FROM proposals ORDER BY 1").fetchall()
        refused = db.execute("SELECT reason FROM audit WHERE kind = 'refused' ORDER BY seq")
        assert [row[0] for row in stored] == [f"n{number}" for number in range(len(HOSTILE))]
        assert [row[0] for row in refused.fetchall()] == list(HOSTILE)
    assert bot.beside("audit", "verify").returncode == 0
