"""Applies numbered migrations, and refuses databases that this program does not know.

The table `migrations` is the ledger of those that a database has seen. The functions that take a
connection run on its thread: `SqliteStore` calls them when it opens, `backup` for its source.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Final

from bot.storage.connection import CannotOpen
from bot.storage.queries import LEDGER, QUERIES

_FILE: Final = re.compile(r"(\d{4})_(\w+)\.sql")
_COMMENT: Final = re.compile(r"--[^\n]*")


def migrations() -> list[tuple[int, str, str]]:
    """Return number, name and SQL of every migration, in order."""
    folder = files("bot.storage").joinpath("migrations")
    found = [
        (int(match[1]), match[2], file.read_text(encoding="utf-8"))
        for file in folder.iterdir()
        if (match := _FILE.fullmatch(file.name))
    ]
    return sorted(found)


def newest() -> int:
    """Return the number of the newest migration that this program knows."""
    return migrations()[-1][0]


#: A database file that was copied under a running bot looks like an old or an empty one.
_PERHAPS_HALF: Final = (
    " If it is a copy of one in use, its newest commits stand in the -wal beside the original: "
    "make copies with: signoff backup FILE"
)


def refuse_unknown(connection: sqlite3.Connection, path: Path) -> None:
    """Raise CannotOpen for a database that this program must not use; change nothing.

    That is a database of another program or of a newer Signoff, or one that lacks columns of its
    version. An empty database is accepted.
    """
    _refuse_strangers(connection, path)
    if _is_ours(connection):
        applied = _applied(connection)
        _refuse_newer(applied, path)
        _refuse_misshapen(connection, path, applied)


def migrate(connection: sqlite3.Connection, _path: Path) -> None:
    """Bring a database that `refuse_unknown` accepted up to date, each migration in a transaction.

    Writes at least one page, so that a file that cannot be written is noticed now.
    """
    connection.execute(LEDGER["ledger"])
    connection.execute(LEDGER["touch"])
    applied = _applied(connection)
    for number, name, sql in migrations():
        if number > applied:
            _apply(connection, number, name, sql)


def check_schema(connection: sqlite3.Connection, path: Path) -> None:
    """Raise CannotOpen unless the database has exactly this program's version; change nothing."""
    if check_known(connection, path) < newest():
        raise CannotOpen(
            f"The database {path} is of an older Signoff; start `signoff run` once to update it."
            f"{_PERHAPS_HALF}"
        )


def check_known(connection: sqlite3.Connection, path: Path) -> int:
    """Return the version of the database; raise CannotOpen if this program does not know the
    database, or if it lacks columns of its version."""
    refuse_unknown(connection, path)
    if not _is_ours(connection):
        raise CannotOpen(f"{path} holds no tables of Signoff.{_PERHAPS_HALF}")
    return _applied(connection)


def made_by_others(connection: sqlite3.Connection) -> list[str]:
    """Return a sentence for each foreign trigger, and each view under the name of a table."""
    found = connection.execute(LEDGER["made_by_others"]).fetchall()
    return [
        f"the database holds the {each['type']} {each['name']}, which Signoff did not make and "
        f"which changes what is written or read: look at it, then DROP {each['type'].upper()} it"
        for each in found
    ]


def reshaped(connection: sqlite3.Connection) -> list[str]:
    """Return a sentence for each index that is gone or another one than the migrations made, for
    each foreign UNIQUE index, and for computed columns that compute something else.

    By these the bot finds what is due: with others a window never closes, or all are refused.
    """
    ours, stand = _shapes_made_by(_applied(connection)), _shapes(connection)
    found = []
    for name, sql in sorted(ours.items()):
        if name == "proposals":
            if not stand.get(name, "").startswith(sql.removesuffix(")")):
                found.append("the table proposals is not as Signoff made it: bring a copy back")
        elif stand.get(name) != sql:
            found.append(f"the index {name} is gone or another one than Signoff made: {sql}")
    foreign = (name for name in sorted(stand.keys() - ours.keys()) if "UNIQUE" in stand[name])
    return found + [
        f"the database holds the index {name}, which Signoff did not make and which refuses rows: "
        "look at it, then DROP INDEX it"
        for name in foreign
    ]


@cache
def _shapes_made_by(applied: int) -> Mapping[str, str]:
    with closing(_made(applied)) as made:
        return _shapes(made)


def _shapes(connection: sqlite3.Connection) -> Mapping[str, str]:
    """Return the indices over our tables, and the table of proposals, as SQL without comments."""
    rows = connection.execute(LEDGER["shapes"])
    return {str(row["name"]): " ".join(_COMMENT.sub("", str(row["sql"])).split()) for row in rows}


def _is_ours(connection: sqlite3.Connection) -> bool:
    return bool(connection.execute(LEDGER["foreign_tables"]).fetchone()["ours"])


def _applied(connection: sqlite3.Connection) -> int:
    return int(connection.execute(LEDGER["newest"]).fetchone()[0])


def _refuse_strangers(connection: sqlite3.Connection, path: Path) -> None:
    found = connection.execute(LEDGER["foreign_tables"]).fetchone()
    if found["any_table"] and not found["ours"]:
        raise CannotOpen(
            f"The database {path} holds tables of another program; name another file in `database`."
        )


def _refuse_newer(applied: int, path: Path) -> None:
    if applied > newest():
        raise CannotOpen(
            f"The database {path} was written by a newer Signoff (schema {applied}, this program "
            f"knows {newest()}); update Signoff."
        )


def _refuse_misshapen(connection: sqlite3.Connection, path: Path, applied: int) -> None:
    """Raise CannotOpen if a column is missing that the applied migrations make.

    Migrated further, such a database could be read neither by this program nor by the older version
    that could read it. A command that reads it beside a bot would report no fault as long as its
    tables are empty.
    """
    lacking = sorted(_columns_made_by(applied) - _columns(connection))
    if lacking:
        raise CannotOpen(
            f"The database {path} lacks {lacking[0]}, which schema {applied} has: it is from before"
            " the first version, or somebody changed its tables. Nothing was written to it. Use it "
            "with the version that made it, or bring a copy back with: signoff restore FILE"
        )


@cache
def _columns_made_by(applied: int) -> frozenset[str]:
    with closing(_made(applied)) as made:
        return _columns(made)


def _made(applied: int) -> sqlite3.Connection:
    """Return an empty database in memory, as the migrations up to this one make it."""
    made = sqlite3.connect(":memory:")
    made.row_factory = sqlite3.Row
    for number, _, sql in migrations():
        if number <= applied:
            made.executescript(sql)
    return made


def _columns(connection: sqlite3.Connection) -> frozenset[str]:
    return frozenset(row["name"] for row in connection.execute(LEDGER["columns"]))


def _apply(connection: sqlite3.Connection, number: int, name: str, sql: str) -> None:
    # executescript commits an open transaction first, so the script itself must begin one.
    try:
        connection.executescript(f"{QUERIES['begin']};\n{sql}")
        connection.execute(LEDGER["applied"], {"number": number, "name": name})
        connection.execute(QUERIES["commit"])
    except BaseException:
        if connection.in_transaction:
            connection.execute(QUERIES["roll_back"])
        raise
