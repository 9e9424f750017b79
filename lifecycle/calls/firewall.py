"""Bound and mask what comes back from a tool before an agent sees it (seed 004)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import islice
from typing import Any, Final

from lifecycle.canonical import canonical_bytes, digest_of
from lifecycle.text.masking import mask, mask_disguised, mask_spans, masked_together, told_apart
from lifecycle.text.personal_data import card_like, find_private
from lifecycle.text.quoted_secrets import Secrets, mask_quoted
from lifecycle.text.secret_names import secret_named
from lifecycle.text.secret_values import is_credential
from lifecycle.text.secrets_beside import told_within

_SHORT_NAME: Final = 64
#: How many characters of a result's texts are searched for credentials: far more than are shown. It
#: is bounded because nobody else is served while a text is searched.
_MOST_READ: Final = 65_536
_MASKED: Final = "Credentials or personal data in a text were masked."
TOO_DEEP: Final = "‹nested too deep to show›"
_PERSONAL_NAMES: Final = {
    "email": "email address",
    "phone": "phone number",
    "card_number": "card number",
    "credit_card": "card number",
    "ssn": "social security number",
    "social_security_number": "social security number",
    "iban": "IBAN",
}


@dataclass(frozen=True, slots=True)
class Budget:
    """How much of a result an agent is shown: rows of a list, fields of an object, depth."""

    rows: int = 50
    fields: int = 20
    characters: int = 4_000
    depth: int = 3


@dataclass(frozen=True, slots=True)
class Frame:
    """The bounded, masked view of a result.

    `handle` is the digest of the whole result, which stays here if it is small enough to be kept.
    """

    handle: str
    value: Any
    warnings: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """Return the wire form."""
        return {"handle": self.handle, "value": self.value, "warnings": list(self.warnings)}


@dataclass(slots=True)
class _Spending:
    """The characters that are left to show (`left`) and to search (`unread`), and the warnings."""

    budget: Budget
    left: int
    unread: int = _MOST_READ
    warnings: dict[str, None] = field(default_factory=dict)

    def warn(self, words: str) -> None:
        self.warnings[words] = None

    def pay(self, cost: int) -> bool:
        """Take `cost` characters; return False if fewer are left."""
        if cost > self.left:
            self.warn(f"More than {self.budget.characters} characters: the rest was left out.")
            return False
        self.left -= cost
        return True

    def read(self, text: str) -> str:
        """Return the part of a text that is searched, without the word that its end cuts through.

        Half of a credential would not be recognized.
        """
        most = self.unread
        self.unread = max(0, most - len(text))
        if len(text) <= most:
            return text
        self.warn(f"Of texts beyond {_MOST_READ} characters the rest was left out, unread.")
        words = text[:most].rsplit(maxsplit=1)
        return f"{words[0]} …" if len(words) > 1 else " …"


def frame_of(value: Any, budget: Budget | None = None, given: Secrets = ()) -> Mapping[str, Any]:
    """Return the frame of a result as JSON; the handle is its digest.

    Credentials that the tool was `given` are masked wherever it repeats them.
    """
    handle = digest_of(canonical_bytes(value))
    return framed(mask_quoted(value, given), handle, budget).as_json()


def framed(value: Any, handle: str, budget: Budget | None = None) -> Frame:
    """Bound and mask a JSON value: 50 rows, 20 fields, 4,000 characters, depth 3 by default."""
    budget = budget or Budget()
    spending = _Spending(budget, budget.characters)
    return Frame(handle, _bounded(value, 0, spending), tuple(spending.warnings))


def mask_private(text: str) -> str:
    """Return the text with credentials, those in disguise too, and personal data masked."""
    return mask_disguised(mask_spans(text, find_private(text)))


@lru_cache(maxsize=512)
def _name_shown(name: str) -> str:
    """Return the name of a field, masked; cached, as a tool's receipts repeat their names."""
    return mask_private(name)


def _bounded(value: Any, depth: int, spending: _Spending) -> Any:
    if isinstance(value, (Mapping, list, tuple)) and depth >= spending.budget.depth:
        spending.warn("What is nested deeper than the bound was left out, unread.")
        return TOO_DEEP
    if isinstance(value, (Mapping, list, tuple)):
        spending.left -= 2  # its brackets
    if isinstance(value, Mapping):
        return _fields(value, depth, spending)
    if isinstance(value, (list, tuple)):
        return _rows(value, depth, spending)
    return _scalar(value, spending)


def _fields(value: Mapping[str, Any], depth: int, spending: _Spending) -> dict[str, Any]:
    most = spending.budget.fields
    if len(value) > most:
        spending.warn(f"{len(value) - most} of {len(value)} fields were left out.")
    told = list(islice(told_within(value, None), most))
    names = told_apart(_named(str(key), spending) for key, _, _ in told)
    shown: dict[str, Any] = {}
    for (key, item, said), name in zip(told, names, strict=True):
        if not spending.pay(len(name) + 4):
            break
        kind = _kind_of(str(key))
        beside = kind is None and said is not None and is_credential(said, item)
        if item is None or isinstance(item, bool) or (kind is None and not beside):
            shown[name] = _bounded(item, depth + 1, spending)
            continue
        by = "the name beside it" if beside else "its name"
        spending.warn(f"The field {name} was masked by {by}.")
        shown[name] = _hidden(item, kind or "secret", spending)
    return shown


def _named(key: str, spending: _Spending) -> str:
    """Return the name of a field, masked."""
    if len(key) <= _SHORT_NAME:
        name = _name_shown(key)
    else:
        name = mask_private(key := spending.read(key))
    if name != key:
        spending.warn(_MASKED)
    return name


def _rows(value: list[Any] | tuple[Any, ...], depth: int, spending: _Spending) -> list[Any]:
    most = spending.budget.rows
    if len(value) > most:
        spending.warn(f"{len(value) - most} of {len(value)} rows were left out.")
    shown: list[Any] = []
    for _, item, said in islice(told_within(value, None), most):
        if not spending.pay(2):
            break
        if said is not None and is_credential(said, item):
            spending.warn(_MASKED)
            shown.append(_hidden(item, "secret", spending))
        else:
            shown.append(_bounded(item, depth + 1, spending))
    together = masked_together(list(shown))
    if together != shown:
        spending.warn(_MASKED)
    return together


def _hidden(item: Any, kind: str, spending: _Spending) -> str:
    masked = mask(item if isinstance(item, str) else str(item), kind)
    spending.pay(len(masked) + 2)
    return masked


def _scalar(value: Any, spending: _Spending) -> Any:
    if isinstance(value, int) and not isinstance(value, bool) and card_like(value):
        value = str(value)
    if not isinstance(value, str):
        return value if spending.pay(len(str(value))) else None
    read = spending.read(value)
    masked = mask_private(read)
    if masked != read:
        spending.warn(_MASKED)
    if spending.pay(len(masked) + 2):
        return masked
    cut, spending.left = masked[: max(spending.left - 3, 0)], 0
    return cut + "…"


def _kind_of(key: str) -> str | None:
    if secret_named(key):
        return "secret"
    name = key.lower().replace("-", "_").replace(" ", "_")
    for known, kind in _PERSONAL_NAMES.items():
        if name == known or name.endswith("_" + known):
            return kind
    return None
