"""A credential that was refused stands nowhere in the files, whatever else was wrong."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import AsyncIterator, Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from bot.storage.opening import open_store
from lifecycle.agreeing.rows import disagreements
from lifecycle.audit import AuditEntry
from lifecycle.policy import Level, RuleSettings
from lifecycle.state import State
from lifecycle.stops.spooling import held_words
from lifecycle.verdicts.judge import found_in
from tests.builders import MAIL, PROD
from tests.roads import trail_of
from tests.stories.test_questions import REFUND, asks, id_of
from tests.world import World, a_world

TOKEN = "ghp_" + "a1B2c3D4e5F6" * 3
PARAMETERS = MAIL["parameters"]
CONDITION = {"field": "a", "operator": "eq", "value": TOKEN, "evidence_ref": "e1"}


@pytest.fixture
async def stage(tmp_path: Path) -> AsyncIterator[World]:
    """The law over a real file."""
    store = await open_store("sqlite:///signoff.db", tmp_path)
    world = a_world(store)
    await world.workflow.start()
    yield world
    await world.workflow.shut_down(1)
    await store.close()


def everything(folder: Path) -> str:
    """Return all that the database holds, as text."""
    with closing(sqlite3.connect(folder / "signoff.db")) as db, db:
        tables = [row[0] for row in db.execute("SELECT name FROM sqlite_master WHERE type='table'")]
        rows = [row for table in tables for row in db.execute(f"SELECT * FROM {table}")]
    return "\n".join(
        part.decode() if isinstance(part, bytes) else str(part) for row in rows for part in row
    )


def files_with(text: str, folder: Path) -> list[str]:
    """Name the files that hold the text anywhere, the log of what is not folded in among them."""
    return [file.name for file in folder.iterdir() if text.encode() in file.read_bytes()]


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"parameters": PARAMETERS | {"body": TOKEN}}, id="alone"),
        pytest.param(
            {"parameters": PARAMETERS | {"body": f"final warning {TOKEN}"}}, id="with_a_phrase"
        ),
        pytest.param(
            {
                "parameters": PARAMETERS
                | {"body": TOKEN, "amount": {"value": "5", "currency": "USD"}}
            },
            id="beside_an_amount",
        ),
        pytest.param({"parameters": PARAMETERS | {"to": f"pat@{TOKEN}"}}, id="as_a_recipient"),
        pytest.param({"parameters": PARAMETERS | {TOKEN: "x"}}, id="as_a_key"),
        pytest.param(
            {"parameters": PARAMETERS | {"headers": {TOKEN: "bad"}}}, id="as_a_key_of_a_finding"
        ),
        pytest.param({"evidence": f"see {TOKEN}"}, id="in_the_evidence"),
        pytest.param({"justification": f"Pat asked for it {TOKEN}"}, id="in_the_justification"),
        pytest.param({"task_id": TOKEN}, id="as_a_task"),
    ],
)
async def test_a_refused_credential_stands_nowhere(
    stage: World, tmp_path: Path, changes: dict[str, Any]
) -> None:
    answer = await stage.submits(MAIL, **changes)

    assert answer.refused
    assert TOKEN not in everything(tmp_path)
    assert files_with(TOKEN, tmp_path) == []


@pytest.mark.parametrize(
    "disguised", ["gh<b></b>p_" + "A1b2" * 9, "\uff27\uff28\uff30_".lower() + "A1b2" * 9]
)
async def test_a_credential_found_in_a_disguise_is_masked_whole(
    world: World, disguised: str
) -> None:
    parameters = MAIL["parameters"] | {"body": f"Take {disguised} for it"}
    answer = await world.submits(MAIL, parameters=parameters)

    kept = await world.proposal(answer.proposal_id or "")
    assert (answer.state, answer.reason) == ("rejected", "secrets_absent")
    assert disguised not in kept.document.decode()


async def test_a_credential_that_people_type_stands_nowhere_either(
    stage: World, tmp_path: Path
) -> None:
    """What is in the trail is there for good, and in every export."""
    first, second, third = "p1", "p2", "p3"
    for proposal_id in (first, second, third):
        await stage.submits(PROD, proposal_id=proposal_id, parameters={"version": proposal_id})
    await stage.approves("ben", first, f"with {TOKEN}")
    await stage.rejects("ana", second, f"the key is {TOKEN}")
    await stage.approves("ana", TOKEN)
    await stage.workflow.reject(third, stage.sender("ana"))
    await stage.workflow.give_reason(third, stage.sender("ana"), f"see {TOKEN}")
    await stage.workflow.freeze(f"incident {TOKEN}", stage.sender("ana"))
    await stage.workflow.idle()

    assert TOKEN not in everything(tmp_path)
    assert files_with(TOKEN, tmp_path) == []
    assert "the key is ‹secret, 40 characters›" in (await stage.proposal(second)).explanation


async def test_a_credential_in_an_answer_to_an_agent_stands_nowhere(
    stage: World, tmp_path: Path
) -> None:
    asked_id = id_of(await asks(stage, REFUND))

    reply = await stage.workflow.answer_question(asked_id, stage.sender("ben"), f"Yes, use {TOKEN}")

    assert reply.words.endswith("What looks like a credential in it is masked.")
    kept = everything(tmp_path)
    assert TOKEN not in kept
    assert "Yes, use ‹secret, 40 characters›" in kept


async def test_a_credential_is_no_id_of_evidence(stage: World, tmp_path: Path) -> None:
    observed = {"observed_at_ms": stage.clock.now_ms(), "payload": {}}
    packet = {"evidence_id": TOKEN, "source": "crm-sensor", **observed}

    reply = await stage.workflow.record_evidence(
        json.dumps(packet).encode(), stage.sender("crm-sensor")
    )

    assert reply.code == "invalid_identifier"
    assert TOKEN not in everything(tmp_path)


def test_what_was_typed_in_place_of_an_id_is_shown_as_harmless_while_it_holds(
    world: World,
) -> None:
    """`status` answers in the channel, also about what was typed where nobody else sees it."""
    heard = world.workflow.world.heard
    with heard.meanwhile("slack", 1, TOKEN), heard.meanwhile("slack", 1, "p1\u202e"):
        words = held_words(world.workflow.world)

    assert words is not None
    assert words.endswith(": p1\\u{202E}, ‹secret, 40 characters›")


@pytest.mark.parametrize(
    ("arguments", "secret"),
    [
        (["curl", "-u", "pat:hunter2xyz", "https://x.example"], "hunter2xyz"),
        (["pass**word**=", "hunter2xyz"], "hunter2xyz"),
        (["password=<t>", "hunter2xyz"], "hunter2xyz"),
    ],
)
async def test_a_credential_that_a_list_holds_only_together_stands_nowhere(
    stage: World, tmp_path: Path, arguments: list[str], secret: str
) -> None:
    answer = await stage.submits(MAIL, parameters=PARAMETERS | {"args": arguments})

    assert answer.refused
    assert secret not in everything(tmp_path)
    assert files_with(secret, tmp_path) == []


@pytest.mark.parametrize("level", [Level.SOFT, Level.ADVISORY])
async def test_a_credential_for_a_name_that_people_let_pass_stands_in_no_trail(
    stage: World, level: Level
) -> None:
    """A finding is told by its place, and the name stood there."""
    rules = stage.workflow.policy.rules | {"secrets_absent": RuleSettings(level)}
    await stage.adopts(rules=rules)
    await stage.submits(MAIL, proposal_id="p1", parameters=PARAMETERS | {TOKEN: "x"})
    await stage.approves("ana", "p1", "its tool asks for that name")
    await stage.passes(minutes=16)

    told = await stage.store.read(lambda tx: tx.audit.exported(0, 1_000))
    proposal = await stage.proposal("p1")
    assert proposal.state is State.COMPLETED
    assert "secret_found" in json.dumps(told)
    assert TOKEN not in json.dumps(told)
    assert await in_doubt(stage) == []


async def test_a_trail_that_an_earlier_version_told_in_clear_fits_its_row(stage: World) -> None:
    rules = stage.workflow.policy.rules | {"secrets_absent": RuleSettings(Level.SOFT)}
    await stage.adopts(rules=rules)
    await stage.submits(MAIL, proposal_id="p1", parameters=PARAMETERS | {TOKEN: "x"})
    verdict = (await stage.proposal("p1")).verdict
    assert verdict is not None

    def in_clear(entry: AuditEntry) -> AuditEntry:
        details = dict(entry.event.details)
        if "rules" in details:
            details["rules"] = found_in(verdict)
        return entry._replace(event=entry.event._replace(details=details))

    assert TOKEN in json.dumps(found_in(verdict))
    assert await in_doubt(stage, in_clear) == []


def as_it_is(entry: AuditEntry) -> AuditEntry:
    return entry


async def in_doubt(stage: World, told: Callable[[AuditEntry], AuditEntry] = as_it_is) -> list[str]:
    """Say where the row of p1 and its trail differ, each entry taken as `told`."""
    proposal = await stage.proposal("p1")
    trail = await stage.store.read(lambda tx: trail_of(tx, "p1"))
    reviews = await stage.store.read(lambda tx: tx.reviews.of("p1"))
    return disagreements(proposal, [told(entry) for entry in trail], reviews)
