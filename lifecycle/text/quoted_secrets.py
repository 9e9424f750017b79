"""Mask a proposal's own credentials where a tool repeats them (case M08).

Where the rule on credentials only advises, a tool is called with the real values, and its answer
may hold one of them without anything that says so: "401 for k-1234567890". What was masked in the
proposal is known, and masked in the answer as well.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from lifecycle.text.masking import mask, mask_secrets, mask_text

_MASKED: Final = re.compile(r"‹secret, (\d{1,9}) characters›")
#: A shorter value is part of too many words to be looked for.
_SHORTEST: Final = 4
#: A value of at least this length is found inside a word, too.
_LONG: Final = 8

Secrets = tuple[str, ...]


def secrets_in(value: Any) -> Secrets:
    """Return the texts that `mask_secrets` masks in a JSON value, the longest first.

    Of one that has several words, such as `Bearer abc.def`, each word that is none of letters alone
    is among them.
    """
    whole = set(_differing(value, mask_secrets(value)))
    words = {word for each in whole for word in each.split() if not word.isalpha()}
    found = {each for each in whole | words if len(each) >= _SHORTEST}
    return tuple(sorted(found, key=lambda each: (-len(each), each)))


def mask_quoted(value: Any, secrets: Secrets) -> Any:
    """Return a JSON value with each of `secrets` masked in all its texts, names and numbers."""
    if not secrets:
        return value
    return _without(value, re.compile("|".join(map(_pattern, secrets))))


def _pattern(secret: str) -> str:
    found = re.escape(secret)
    return found if len(secret) >= _LONG else rf"(?<!\w){found}(?!\w)"


def _without(value: Any, quoted: re.Pattern[str]) -> Any:
    match value:
        case str():
            return quoted.sub(lambda found: mask(found[0]), value)
        case Mapping():
            return {
                _without(str(key), quoted): _without(each, quoted) for key, each in value.items()
            }
        case list() | tuple():
            return [_without(each, quoted) for each in value]
        case int() | float() if not isinstance(value, bool) and quoted.fullmatch(str(value)):
            return mask(str(value))
        case _:
            return value


def _differing(value: Any, masked: Any) -> Iterator[str]:
    """Yield what of `value` is behind a mask in `masked`, which has the same shape."""
    match value:
        case Mapping() if isinstance(masked, Mapping):
            for (name, item), shown in zip(value.items(), masked.values(), strict=True):
                yield from _differing(name, mask_text(str(name)))
                yield from _differing(item, shown)
        case list() | tuple() if isinstance(masked, (list, tuple)):
            for item, shown in zip(value, masked, strict=True):
                yield from _differing(item, shown)
        case _ if value != masked:
            yield from _behind(str(value), str(masked))


def _behind(text: str, masked: str) -> Iterator[str]:
    """Yield the parts of a text that are masked; the whole text if its masks do not add up."""
    parts, place, end = list[str](), 0, 0
    for found in _MASKED.finditer(masked):
        place += found.start() - end
        end = found.end()
        parts.append(text[place : place + int(found[1])])
        place += int(found[1])
    yield from parts if place + len(masked) - end == len(text) else [text]
