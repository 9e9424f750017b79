"""kill -9 at random moments: `signoff run` through a pipe, windows of 3 s, and no mercy.

About twelve deaths as a rule; SIGNOFF_CRASHES=100 for a long run, SIGNOFF_SEED for another course.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sqlite3
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.crash.life import EFFECT, TOOLS
from tests.processes import Process

CRASHES = int(os.environ.get("SIGNOFF_CRASHES", "12"))
SEED = int(os.environ.get("SIGNOFF_SEED", "20260302"))
WINDOW_S = 3
#: Long enough for a closing and for the closing job to have come by.
SETTLE_S = WINDOW_S + 30
REVERSIBLE = ("effect-deferred", "effect-compensated")
IDEMPOTENT = "effect-again"
KINDS = (*REVERSIBLE, "effect-confirm", IDEMPOTENT, "effect-auto")

pytestmark = pytest.mark.timeout(300 + 30 * CRASHES)


@pytest.fixture
def bot(tmp_path: Path) -> Iterator[Process]:
    """A bot whose tools note each call that reaches the world, a moment after it began."""
    made = Process(tmp_path)
    config = tmp_path / "config.yaml"
    tools = TOOLS.replace("window_s: 900", f"window_s: {WINDOW_S}")
    text = config.read_text().replace("tools:\n", tools, 1)
    config.write_text(
        text.replace("open_limit: 10", "open_limit: 100000").replace(
            "rate: {read: 60, write: 10, destructive: 2}",
            "rate: {read: 100000, write: 100000, destructive: 100000}",
        )
    )
    (tmp_path / "effect.sh").write_text(EFFECT.replace("printf", "sleep 0.02; printf"))
    yield made
    made.close()


def typed(random_: random.Random, known: list[str]) -> str:
    """Return what is typed next: a new proposal, or an act of somebody on one that is known."""
    if not known or random_.random() < 0.4:
        proposal_id = f"p{len(known) + 1}"
        known.append(proposal_id)
        return f"leila: propose {_document(proposal_id, random_.choice(KINDS))}"
    proposal_id = random_.choice(known[-6:])
    match random_.randrange(6):
        case 0 | 1 | 2:
            return f"{random_.choice(['ana', 'ben'])}: approve {proposal_id}"
        case 3:
            return f"{random_.choice(['ana', 'ben'])}: reject {proposal_id} no"
        case 4:
            return f"leila: withdraw {proposal_id}"
        case _:
            return f"ana: settle {proposal_id} happened"


def _document(proposal_id: str, tool: str) -> str:
    target = {
        "resource_type": "note",
        "resource_id": proposal_id,
        "domain": "shop.example",
        "constraints": {},
    }
    return json.dumps(
        {
            "proposal_id": proposal_id,
            "ts_ms": time.time_ns() // 1_000_000,
            "actor": "leila",
            "tool": tool,
            "action_type": "write",
            "target": target,
            "parameters": {"text": proposal_id},
            "justification": "A note that everybody has been waiting for",
        }
    )


def lives_and_dies(bot: Process, random_: random.Random, known: list[str]) -> int:
    """Type as fast as it is read until the bot is killed; return how many lines were typed.

    One death in six comes while it starts, the others up to 2 s after it has answered once.
    """
    bot.start()
    process, heard, lines = bot.process, threading.Event(), 0
    assert process is not None
    reader = threading.Thread(target=_drain, args=(process.stdout, heard), daemon=True)
    reader.start()
    while_starting = random_.random() < 1 / 6
    moment_s = random_.uniform(0, 0.3) if while_starting else random_.uniform(0.05, 2.0)

    def dies() -> None:
        if not while_starting:
            heard.wait(60)
        time.sleep(moment_s)
        os.killpg(process.pid, signal.SIGKILL)

    death = threading.Thread(target=dies)
    death.start()
    try:
        while process.poll() is None:
            bot.tell(typed(random_, known))
            lines += 1
            time.sleep(random_.uniform(0, 0.05))
    except BrokenPipeError:
        pass
    death.join()
    process.wait(30)
    reader.join(10)
    bot.kill()
    return lines


def _drain(pipe: Any, heard: threading.Event) -> None:
    while pipe.read1(65_536):
        heard.set()


def rows(bot: Process, query: str) -> list[sqlite3.Row]:
    with closing(sqlite3.connect(bot.folder / "data" / "signoff.db", timeout=30)) as db, db:
        db.row_factory = sqlite3.Row
        return db.execute(query).fetchall()


OPEN_PAST_ITS_TIME = """
    SELECT proposal_id, outcome, verb, attention, window_closes_at_ms FROM proposals
    WHERE state = 'executing' AND window_closes_at_ms IS NOT NULL
        AND (attention IS NULL OR attention NOT IN ('outcome_unknown'))
"""
SETTLED = "SELECT proposal_id FROM audit WHERE kind = 'settled'"
IN_FLIGHT = "SELECT proposal_id FROM proposals WHERE state = 'executing' AND attention IS NULL"


def settles(bot: Process) -> None:
    """Start once more and let it live until nothing is in flight or open, or too long."""
    bot.start()
    bot.ask("status")
    until_s = time.monotonic() + SETTLE_S
    while rows(bot, IN_FLIGHT) and time.monotonic() < until_s:
        time.sleep(0.5)
    bot.ask("status")


def effects(folder: Path) -> list[tuple[str, str, str]]:
    """Return (tool, verb, key) of every call that reached the world."""
    path = folder / "effects.jsonl"
    lines = path.read_text().splitlines() if path.exists() else []
    calls = [json.loads(line) for line in lines]
    return [(call["tool"], call["verb"], call["idempotency_key"]) for call in calls]


def test_deaths_at_random_moments_lose_double_and_forget_nothing(bot: Process) -> None:
    random_, known = random.Random(SEED), []
    lines = sum(lives_and_dies(bot, random_, known) for _ in range(CRASHES))
    settles(bot)

    assert [dict(row) for row in rows(bot, OPEN_PAST_ITS_TIME)] == []
    stored = {row["proposal_id"]: row for row in rows(bot, "SELECT * FROM proposals")}
    calls = effects(bot.folder)
    assert len(calls) > CRASHES, bot.complaints()[-2000:]
    times = Counter(calls)
    for (tool, verb, key), count in times.items():
        assert count <= (3 if tool == IDEMPOTENT else 1), (tool, verb, key, count)
    settled = {row["proposal_id"] for row in rows(bot, SETTLED)}
    for proposal_id, row in stored.items():
        made = [verb for _, verb, key in times if key.split(":")[0] == proposal_id]
        told_as_it_was(row, made)
        if proposal_id not in settled:
            carried_out_as_told(row, made)
    assert {key.split(":")[0] for _, _, key in calls} <= stored.keys()
    assert bot.end_of_input() == 0
    verified = bot.beside("audit", "verify")
    assert verified.returncode == 0, verified.stdout + verified.stderr
    assert "Traceback" not in bot.complaints()
    figures = Counter(f"{row['state']} {row['attention'] or ''}".strip() for row in stored.values())
    print(f"{CRASHES} deaths, {lines} lines, {len(calls)} calls, {dict(figures)}")  # noqa: T201


def told_as_it_was(row: sqlite3.Row, made: list[str]) -> None:
    """The state must be one that the effects allow, whatever a person settled."""
    known = (row["proposal_id"], row["state"], row["reason"], row["attention"], made)
    match row["state"]:
        case "rejected" | "pending" | "sentinel_approved":
            assert made == [], known
        case "executing":
            assert row["attention"] == "outcome_unknown", known
        case "completed":
            assert "roll_back" not in made, known
        case "rolled_back":
            assert "commit" not in made, known
        case _:
            raise AssertionError(known)


def carried_out_as_told(row: sqlite3.Row, made: list[str]) -> None:
    """What nobody had to settle was really done, and really taken back."""
    known = (row["proposal_id"], row["tool"], row["state"], row["reason"], made)
    match row["state"]:
        case "completed":
            verbs = ["execute", "commit"] if row["tool"] == "effect-deferred" else ["execute"]
            assert made == verbs, known
        case "rolled_back":
            assert made == ["execute", "roll_back"], known
        case _:
            return
