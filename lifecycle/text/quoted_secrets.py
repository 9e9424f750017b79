"""Mask a proposal's own credentials where a tool repeats them (case M08).

Where the rule on credentials only advises, a tool is called with the real values, and its answer
may hold one of them without anything that says so: "401 for k-1234567890". What was masked in the
proposal is known, and masked in the answer as well.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Set
from functools import partial
from typing import Any, Final

from lifecycle.text.masking import mask, mask_secrets, mask_spans, mask_text, told_apart
from lifecycle.text.secrets_found import Secret, joined

_MASKED: Final = re.compile(r"‹secret, (\d{1,9}) characters›")
#: A shorter value is part of too many words to be looked for.
_SHORTEST: Final = 4
#: A value of at least this length is found inside a word, too.
_LONG: Final = 8
#: So many characters are compared with so many credentials at most, about 0.1 s: whoever masks may
#: be the writer's thread or the loop.
_MOST_COMPARED: Final = 50_000_000
_EACH_TEXT: Final = 64

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
    """Return a JSON value with each of `secrets` masked in all its texts, names and numbers.

    Each text is masked whole where looking for all of them would hold up whoever waits.
    """
    if not secrets:
        return value
    if len(secrets) * _chars_of(value) > _MOST_COMPARED:
        return _without(value, _whole, frozenset(secrets))
    return _without(value, partial(_hidden, secrets=secrets), frozenset(secrets))


def _whole(text: str) -> str:
    return mask(text) if len(text) >= _SHORTEST else text


def _chars_of(value: Any) -> int:
    """Return how many characters are looked through; each text costs some more."""
    match value:
        case str():
            return len(value) + _EACH_TEXT
        case Mapping():
            return sum(_chars_of(str(key)) + _chars_of(each) for key, each in value.items())
        case list() | tuple():
            return sum(map(_chars_of, value))
        case _:
            return 0


def _hidden(text: str, secrets: Secrets) -> str:
    """Return the text with each of the secrets masked; those that overlap are masked as one."""
    return mask_spans(text, joined(sorted(each for one in secrets for each in _places(text, one))))


def _places(text: str, secret: str) -> Iterator[Secret]:
    start = text.find(secret)
    while start >= 0:
        end = start + len(secret)
        around = text[max(0, start - 1) : start] + text[end : end + 1]
        if len(secret) >= _LONG or not any(char.isalnum() or char == "_" for char in around):
            yield Secret(start, end, "secret")
        start = text.find(secret, end)


def _without(value: Any, hide: Callable[[str], str], given: Set[str]) -> Any:
    match value:
        case str():
            return hide(value)
        case Mapping():
            names = told_apart(hide(str(key)) for key in value)
            items = (_without(each, hide, given) for each in value.values())
            return dict(zip(names, items, strict=True))
        case list() | tuple():
            return [_without(each, hide, given) for each in value]
        case int() | float() if not isinstance(value, bool) and str(value) in given:
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
        if text.startswith(found[0], place):  # somebody wrote it: it hides nothing
            place += len(found[0])
            continue
        parts.append(text[place : place + int(found[1])])
        place += int(found[1])
    yield from parts if place + len(masked) - end == len(text) else [text]
