"""Loads the statements of `.sql` files by name, so that the Python code of the store holds no SQL.

A statement is written as `-- name --`, at least one comment line, then the SQL.
"""

from __future__ import annotations

import re
from functools import lru_cache
from importlib.resources import files
from typing import Final

_NAMED: Final = re.compile(r"^-- (\w+) --\n((?:-- .+\n)+)", re.MULTILINE)


def load(file_name: str) -> dict[str, str]:
    """Return the statements of a file of this package by name.

    Raises ValueError if a statement has no comment above it, or if two share a name.
    """
    text = files("bot.storage").joinpath(file_name).read_text(encoding="utf-8")
    return parse(text, file_name)


def parse(text: str, file_name: str) -> dict[str, str]:
    """Return the statements of `text` by name; `file_name` is for the error alone."""
    pieces = _NAMED.split(text)[1:]
    names, bodies = pieces[::3], pieces[2::3]
    if len(set(names)) < len(names):
        raise ValueError(f"{file_name}: two statements share a name.")
    if len(names) != len(re.findall(r"^-- \w+ --$", text, re.MULTILINE)):
        raise ValueError(f"{file_name}: every statement needs a sentence above it.")
    return {name: body.strip().removesuffix(";") for name, body in zip(names, bodies, strict=True)}


QUERIES: Final = load("queries.sql")
PRAGMAS: Final = load("pragmas.sql")
LEDGER: Final = load("migrations/ledger.sql")
_VERSION: Final = "version = :version"


@lru_cache(maxsize=64)
def saving(columns: tuple[str, ...]) -> str:
    """Return the statement that saves just these columns of a proposal; `version` must be one."""
    changed = ", ".join(f"{column} = :{column}" for column in columns)
    return QUERIES["save_proposal"].replace(_VERSION, changed, 1)
