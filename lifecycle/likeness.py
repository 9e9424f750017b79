"""Computes what a content is like: one digest for all imitations of it (`previously_rejected`)."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any, Final

import orjson

from lifecycle.canonical import canonical_bytes, digest_of
from lifecycle.text.amounts import Amount, own_amounts
from lifecycle.text.folding import folded
from lifecycle.text.recipients import says_recipient
from lifecycle.text.undressed import undressed

#: Compared with `in`, so that false and 0 are not among them.
_NOTHING: Final[tuple[Any, ...]] = (None, "", [])


def likeness_of(
    actor: str, tool: str, target: Mapping[str, Any], parameters: Mapping[str, Any]
) -> str:
    """Return the digest that all imitations of one content share (`previously_rejected`)."""
    return digest_of(canonical_bytes([actor, tool, likeness(target), likeness(parameters)]))


def known_by(content_digest: str, likeness_digest: str) -> str:
    """Return the digest by which the trail tells what a repeat of a proposal is known by."""
    return digest_of(f"{content_digest} {likeness_digest}".encode())


def likeness(value: Any) -> Any:
    """Return a JSON value as its reader takes it, so that imitations are equal.

    Texts are folded without escapes and without what only decorates them; where links lead, what
    tags say, and the signs in names and paths count. Names are folded; an amount is the value it
    comes to, however it is spelt; recipients have no order. What is null or empty counts for
    nothing, also in a list, and a list of one counts as that one.
    """
    return _alike(value, None, are_recipients=False)


def _alike(value: Any, currency: str | None, *, are_recipients: bool) -> Any:
    if isinstance(value, str):
        return folded(undressed(value)) or folded(value)
    if isinstance(value, Mapping):
        return _object(value, currency, are_recipients=are_recipients)
    if not isinstance(value, (list, tuple)):
        return value
    each = (_alike(item, currency, are_recipients=are_recipients) for item in value)
    items = [alike for alike in each if alike not in _NOTHING]
    if are_recipients:
        items = _in_order(items)
    return items[0] if len(items) == 1 else items


def _object(
    value: Mapping[str, Any], around: str | None, *, are_recipients: bool
) -> list[list[Any]]:
    amounts, currency = own_amounts(value, around)
    read = {amount.parts[-1]: amount for amount in amounts if amount.value is not None}
    pairs: list[list[Any]] = []
    for key, item in value.items():
        if amount := read.get(key):
            pairs.append(_money(amount))
            continue
        named = are_recipients or says_recipient(key)
        alike = _alike(item, currency, are_recipients=named)
        if alike not in _NOTHING:
            pairs.append([folded(str(key)), alike])
    return _in_order(pairs)


def _money(amount: Amount) -> list[Any]:
    """Return what `120`, `120.00` and 12000 cents have in common."""
    value = (amount.value or Decimal(0)).normalize()
    return ["amount", f"{value:f} {amount.currency or ''}"]


def _in_order(values: list[Any]) -> list[Any]:
    """Return the values sorted, each once; any order will do that depends on the values alone."""
    spelt = {_spelt(value): value for value in values}
    return [spelt[key] for key in sorted(spelt)]


def _spelt(value: Any) -> bytes:
    try:
        return orjson.dumps(value)
    except TypeError:
        return canonical_bytes(value)
