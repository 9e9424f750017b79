"""No question of the running bot looks at the past, and none sorts what an index could order."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from bot.storage import queries
from bot.storage.connection import open_plain
from bot.storage.migrations import migrate
from bot.storage.queries import LEDGER, PRAGMAS, QUERIES, parse

FOLDER = Path(queries.__file__).parent
TRANSACTION = {"begin", "begin_reading", "commit", "roll_back"}
TRANSACTION |= {"begin_unit", "release_unit", "undo_unit"}
ASKING = sorted(QUERIES.keys() - TRANSACTION)

#: Statements that may walk a whole index, each with the reason.
WALKS = {
    "audit_head": "the last entry of the table's own order: one row",
    "own_open_of": "what one proposer has open is sorted: no index has that by time",
}

#: Those that begin with what is open and what ended within a day.
OF_A_DAY = {"spent"}


class AnyValue(dict[str, None]):
    """Binds every name."""

    def __missing__(self, name: str) -> None:
        return None


@pytest.fixture(scope="module")
def connection(tmp_path_factory: pytest.TempPathFactory) -> Iterator[sqlite3.Connection]:
    path = tmp_path_factory.mktemp("plans") / "signoff.db"
    with closing(open_plain(path, writing=True)) as plain:
        migrate(plain, path)
        yield plain


def plan(connection: sqlite3.Connection, sql: str) -> list[str]:
    rows = connection.execute(f"EXPLAIN QUERY PLAN {sql}", AnyValue()).fetchall()
    return [row["detail"] for row in rows]


def partial_indices(connection: sqlite3.Connection) -> set[str]:
    partial = "SELECT name FROM sqlite_master WHERE type = 'index' AND sql LIKE '%WHERE%'"
    return {row["name"] for row in connection.execute(partial)}


def objections(details: list[str]) -> list[str]:
    """Steps that read a table from end to end, or sort what they read."""
    scans = re.compile(r"SCAN (?!CONSTANT)(?!.*USING (COVERING )?INDEX)")
    return [detail for detail in details if scans.match(detail) or "USE TEMP B-TREE" in detail]


@pytest.mark.parametrize("name", ASKING)
def test_every_query_finds_its_rows_by_an_index(connection: sqlite3.Connection, name: str) -> None:
    found = objections(plan(connection, QUERIES[name]))

    assert bool(found) == (name in WALKS), found


@pytest.mark.parametrize("name", ASKING)
def test_an_index_that_is_walked_holds_nothing_of_the_past(
    connection: sqlite3.Connection, name: str
) -> None:
    walked = re.findall(
        r"SCAN \w+ USING (?:COVERING )?INDEX (\w+)", "\n".join(plan(connection, QUERIES[name]))
    )

    assert set(walked) <= partial_indices(connection)


@pytest.mark.parametrize("name", ASKING)
def test_a_question_about_what_is_open_is_not_answered_from_an_index_of_everything(
    connection: sqlite3.Connection, name: str
) -> None:
    steps = "\n".join(plan(connection, QUERIES[name]))
    used = set(re.findall(r"proposals USING (?:COVERING )?INDEX (\w+)", steps))

    of_the_past = used - partial_indices(connection) - {"sqlite_autoindex_proposals_1"}

    assert not (of_the_past and re.search(r"state (IN \(|= )'|agenda", QUERIES[name])), of_the_past


@pytest.mark.parametrize("name", ASKING)
def test_a_question_about_what_is_open_begins_with_what_is_open(
    connection: sqlite3.Connection, name: str
) -> None:
    """Evidence that a hundred thousand ended proposals had named took a third of a second."""
    if not re.search(r"state IN \('pending'", QUERIES[name]):
        return

    steps = plan(connection, QUERIES[name])
    outer = next(step for step in steps if step.startswith(("SCAN", "SEARCH")))
    index = re.search(r"USING (?:COVERING )?INDEX (\w+)", outer)

    begins = index is not None and index[1] in partial_indices(connection)
    assert begins != (name in OF_A_DAY), outer


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM proposals WHERE explanation = 'x'",
        "SELECT count(*) FROM proposals WHERE surface = 'x'",
        "SELECT * FROM proposals WHERE state = 'executing' ORDER BY created_at_ms",
    ],
)
def test_a_bare_scan_or_a_sort_is_seen(connection: sqlite3.Connection, sql: str) -> None:
    assert objections(plan(connection, sql)) != []


def test_sql_stands_in_sql_files_only() -> None:
    verbs = re.compile(r"\b(SELECT .+ FROM|INSERT INTO|UPDATE \w+ SET|DELETE FROM|PRAGMA \w)")
    sources = (file for file in FOLDER.glob("*.py"))

    assert [file.name for file in sources if verbs.search(file.read_text("utf-8"))] == []


def test_every_statement_is_used() -> None:
    code = "".join(file.read_text("utf-8") for file in FOLDER.glob("*.py"))

    unused = [n for n in (*QUERIES, *PRAGMAS, *LEDGER) if f'"{n}"' not in code]

    assert unused == []


def test_a_statement_without_a_sentence_is_refused() -> None:
    with pytest.raises(ValueError, match="sentence"):
        parse("-- a --\nSELECT 1;\n", "x.sql")


def test_two_statements_of_one_name_are_refused() -> None:
    with pytest.raises(ValueError, match="share a name"):
        parse("-- a --\n-- One.\nSELECT 1;\n-- a --\n-- Two.\nSELECT 2;\n", "x.sql")
