"""Credentials that are known by what stands beside them, in an object or in a list."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, Final

from lifecycle.text.secrets_found import assigned, secret_named

_NAMES: Final = ("name", "key", "k", "variable", "header", "field", "path")
_VALUES: Final = ("value", "v")
#: Beside one of these `pass` is a password.
_USERS: Final = frozenset("user username user_name login account".split())
_LONGEST_OPTION: Final = 60


def named_beside(value: Mapping[str, Any]) -> frozenset[str]:
    """Return the keys of an object that hold a credential by the name that stands beside them.

    So lists of variables, headers and changes are written, in any letter case:
    `{"name": "DB_PASSWORD", "value": "…"}`, `{"path": "/db/password", "value": "…"}`. Beside a
    user `pass` is one, too.
    """
    keys = {key.lower(): key for key in value}
    found = {keys["pass"]} if "pass" in keys and not _USERS.isdisjoint(keys) else set()
    holders = [keys[name] for name in _VALUES if name in keys]
    names = [value[keys[name]] for name in _NAMES if name in keys] if holders else []
    if any(isinstance(name, str) and secret_named(name) for name in names):
        found.update(holders)
    return frozenset(found)


def named_before(items: Sequence[Any]) -> frozenset[int]:
    """Return the places of a list that hold a credential by what stands before them.

    So arguments (`["--password", "…"]`) and pairs (`["X-Api-Key", "…"]`) are written.
    """
    pair = len(items) == 2
    return frozenset(
        place
        for place, (name, item) in enumerate(pairwise(items), 1)
        if isinstance(name, str)
        and isinstance(item, str)
        and (_is_option(name, item) or (pair and _is_pair(name, item)))
    )


def _is_option(name: str, item: str) -> bool:
    bare = name.startswith("-") and "=" not in name and len(name) <= _LONGEST_OPTION
    return bare and not item.startswith("-") and secret_named(name)


def _is_pair(name: str, item: str) -> bool:
    """Tell `["X-Api-Key", "k-1234"]` from the names of two columns, `["token", "created_at"]`."""
    return secret_named(name) and any(map(str.isdecimal, item)) and assigned(name, item)
