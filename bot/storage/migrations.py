"""Numbered migrations and the ledger of those that a database has seen."""

from __future__ import annotations

import re
import sqlite3
from importlib.resources import files
from pathlib import Path
from typing import Final

from bot.storage.connection import CannotOpen
from bot.storage.queries import LEDGER, QUERIES

_FILE: Final = re.compile(r"(\d{4})_(\w+)\.sql")


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


#: A database that was copied under a running bot looks like an old one, or an empty one.
_PERHAPS_HALF: Final = (
    " If it is a copy of one in use, its newest commits stand in the -wal beside the original: "
    "make copies with: signoff backup FILE"
)


def migrate(connection: sqlite3.Connection, path: Path) -> None:
    """Bring the database up to date, each migration whole or not at all.

    Writes at least one page, so that a file that cannot be written is noticed now. Raises
    CannotOpen for a database that is not Signoff's or is of a newer Signoff.
    """
    _refuse_strangers(connection, path)
    connection.execute(LEDGER["ledger"])
    connection.execute(LEDGER["touch"])
    applied = _applied(connection)
    _refuse_newer(applied, path)
    for number, name, sql in migrations():
        if number > applied:
            _apply(connection, number, name, sql)


def check_schema(connection: sqlite3.Connection, path: Path) -> None:
    """Raise CannotOpen unless the database is of exactly this version; changes nothing."""
    if check_known(connection, path) < newest():
        raise CannotOpen(
            f"The database {path} is of an older Signoff; start `signoff run` once to update it."
            f"{_PERHAPS_HALF}"
        )


def check_known(connection: sqlite3.Connection, path: Path) -> int:
    """Return the database's version; raise CannotOpen where this program does not know it."""
    _refuse_strangers(connection, path)
    if not connection.execute(LEDGER["foreign_tables"]).fetchone()["ours"]:
        raise CannotOpen(f"{path} holds no tables of Signoff.{_PERHAPS_HALF}")
    applied = _applied(connection)
    _refuse_newer(applied, path)
    return applied


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


def _apply(connection: sqlite3.Connection, number: int, name: str, sql: str) -> None:
    # executescript ends an open transaction first, so the transaction stands in the script.
    try:
        connection.executescript(f"{QUERIES['begin']};\n{sql}")
        connection.execute(LEDGER["applied"], {"number": number, "name": name})
        connection.execute(QUERIES["commit"])
    except BaseException:
        if connection.in_transaction:
            connection.execute(QUERIES["roll_back"])
        raise
