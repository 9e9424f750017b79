"""Find personal data in a text: addresses, and numbers of phones, cards and accounts (seed 004)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from lifecycle.text.secrets_found import Secret, find_secrets, joined

#: Of two that begin at the same place the earlier shape counts: an account number is no phone's.
_SHAPES: Final = tuple(
    (kind, re.compile(pattern))
    for kind, pattern in (
        ("IBAN", r"\b[A-Z]{2}\d{2}(?:[ -]?[A-Z\d]{4}){2,7}(?:[ -]?[A-Z\d]{1,3})?\b"),
        ("IBAN", r"\b[a-z]{2}\d{2}(?:[a-z\d]{4}){2,7}[a-z\d]{0,3}\b"),
        ("card number", r"(?<![\w.+-])[2-6]\d{3}(?:[ -]?\d){9,15}(?![\w-]|\.\d)"),
        ("social security number", r"(?<![\w-])\d{3}([- ])\d{2}\1\d{4}(?![\w-])"),
        ("phone number", r"(?<![\w.+-])\+\d(?:[ .()/-]{0,2}\d){7,14}(?!\w)"),
        (
            "phone number",
            r"(?<![\w.+-])(?:\(\d{3}\) ?|\d{3}[ .-])\d{3}[ .-]\d{4}(?![\w-]|\.\d)",
        ),
        ("email address", r"(?<![\w.+%-])[\w.+%-]++@[\w-]++(?:\.[\w-]+)+"),
    )
)
#: Wider than the rule's shape: masking more in a receipt costs less than refusing a proposal.
_LOOSE_KEY: Final = re.compile(r"(?i)\b(?:api|access)[_-]key\s{1,8}(\w{8,})")
_SHORTEST_IBAN: Final = 15


def find_private(text: str) -> tuple[Secret, ...]:
    """Return credentials and personal data; spans are in order, and joined if they overlap."""
    return joined(sorted(_found(text), key=lambda s: (s.start, -s.end)))


def card_like(number: int) -> bool:
    """Return True if a JSON number is the number of a card."""
    digits = str(number)
    return 13 <= len(digits) <= 19 and digits[0] in "23456" and _luhn(digits)


def _found(text: str) -> Iterator[Secret]:
    for start, end, _ in find_secrets(text):
        yield Secret(start, end, "secret")
    for match in _LOOSE_KEY.finditer(text):
        yield Secret(*match.span(1), "secret")
    for kind, shape in _SHAPES:
        for match in shape.finditer(text):
            if _holds(kind, match[0]):
                yield Secret(*match.span(), kind)


def _holds(kind: str, found: str) -> bool:
    bare = re.sub(r"[ -]", "", found)
    if kind == "card number":
        return _luhn(bare)
    if kind == "IBAN":
        return len(bare) >= _SHORTEST_IBAN and (found[0].isupper() or _mod_97(bare.upper()))
    return True


def _luhn(digits: str) -> bool:
    doubled = [int(d) * 2 for d in digits[-2::-2]]
    return (sum(map(int, digits[-1::-2])) + sum(d - 9 if d > 9 else d for d in doubled)) % 10 == 0


def _mod_97(iban: str) -> bool:
    return int("".join(str(int(c, 36)) for c in iban[4:] + iban[:4])) % 97 == 1
