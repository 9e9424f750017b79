"""Find credentials in objects and lists by what stands above, beside or before them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, Final

from lifecycle.text.secret_names import secret_named
from lifecycle.text.secret_values import assigned

_NAMES: Final = frozenset("name key k variable header field path".split())
_VALUES: Final = frozenset({"value", "v"})
#: Beside one of these `pass` is a password.
_USERS: Final = frozenset("user username user_name login account".split())
_LONGEST_OPTION: Final = 60


def told_within(value: Any, said: str | None) -> Iterator[tuple[str | int, Any, str | None]]:
    """Yield the items of an object or a list: key or place, item, and the name that says secret of
    it.

    `said` is the name that says so of the whole, None if none does; the nearest name counts. Both
    the rule and masking ask here, so that nothing is masked that the rule lets pass.
    """
    if isinstance(value, Mapping):
        beside = _named_beside(value)
        for key, item in value.items():
            named = secret_named(key) or key in beside
            yield key, item, key if named else said
    elif isinstance(value, (list, tuple)):
        before = _named_before(value)
        for place, item in enumerate(value):
            yield place, item, value[place - 1] if place in before else said


def _named_beside(value: Mapping[str, Any]) -> frozenset[str]:
    """Return the keys of an object that hold a credential by the name that stands beside them.

    Lists of variables, headers and changes are written so, in any letter case: `{"name":
    "DB_PASSWORD", "value": "…"}`, `{"path": "/db/password", "value": "…"}`. Beside a user `pass` is
    one, too.
    """
    keys = {key: key.lower() for key in value}
    found = {key for key, small in keys.items() if small == "pass"}
    if found and _USERS.isdisjoint(keys.values()):
        found.clear()
    holders = [key for key, small in keys.items() if small in _VALUES]
    names = [value[key] for key, small in keys.items() if small in _NAMES] if holders else []
    if any(isinstance(name, str) and secret_named(name) for name in names):
        found.update(holders)
    return frozenset(found)


def _named_before(items: Sequence[Any]) -> frozenset[int]:
    """Return the places in a list that hold a credential by what stands before them.

    Arguments (`["--password", "…"]`) and pairs (`["X-Api-Key", "…"]`) are written so.
    """
    pair = len(items) == 2
    return frozenset(
        place
        for place, (name, item) in enumerate(pairwise(items), 1)
        if isinstance(name, str) and (_is_option(name, item) or (pair and _is_pair(name, item)))
    )


def _is_option(name: str, item: Any) -> bool:
    bare = name.startswith("-") and "=" not in name and len(name) <= _LONGEST_OPTION
    if not bare or not isinstance(item, (str, int, float)):
        return False
    return not str(item).startswith("-") and secret_named(name)


def _is_pair(name: str, item: Any) -> bool:
    """Return True for `["X-Api-Key", "k-1234"]`, not for words or two columns, `["token",
    "created"]`."""
    if not isinstance(item, str) or len(item.split()) != 1 or not secret_named(name):
        return False
    return any(map(str.isdecimal, item)) and assigned(name, item)
