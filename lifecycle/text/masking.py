"""Mask credentials in what others wrote, so that it can be shown and kept (section 8, M08)."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import accumulate
from typing import Any, Final

from lifecycle.text.disguises import hides_lines, hides_secret
from lifecycle.text.secret_values import is_credential
from lifecycle.text.secrets_beside import told_within
from lifecycle.text.secrets_found import find_secrets

#: Stands in place of the end of a text that is too long to be kept.
_CUT_OFF: Final = " … (the rest was cut off)"
#: The kind that a mask names, but for personal data.
_KIND: Final = "secret"
_MASK: Final = re.compile(r"‹[a-zA-Z ]{1,40}, \d{1,9} characters›")


def mask(value: str, kind: str = _KIND) -> str:
    """Return `‹secret, N characters›`; a text that is a mask already stays as it is."""
    return value if _MASK.fullmatch(value) else f"‹{kind}, {len(value)} characters›"


def mask_text(text: str) -> str:
    """Return the text with every credential masked; it need not be JSON, nor well formed."""
    return mask_disguised(_masked_as_written(text), text)


def mask_disguised(text: str, written: str | None = None) -> str:
    """Return a text without credentials in disguise; those in clear are masked in it already.

    If a credential is escaped, or has markup or invisible characters inside, nobody can say which
    characters of the text belong to it. So its whole line is masked, and the whole text if the
    disguise, or what it hides, spans lines. `written` is the text before anything of it was masked.
    """
    if not hides_secret(text):
        return text
    lines = [mask(line) if hides_secret(line) else line for line in text.split("\n")]
    clear = "\n".join(lines)
    return mask(written or text) if hides_lines(text) or hides_secret(clear) else clear


def mask_spans(text: str, spans: Iterable[tuple[int, int, str]]) -> str:
    """Return the text with each span (start, end, kind) masked; they are in order, and apart."""
    parts, place = [], 0
    for start, end, kind in spans:
        parts += [text[place:start], mask(text[start:end], kind)]
        place = end
    return "".join(parts) + text[place:]


def _masked_as_written(text: str) -> str:
    return mask_spans(text, ((start, end, _KIND) for start, end, _ in find_secrets(text)))


def harmless(text: str) -> str:
    """Return what somebody typed in a form for a sentence of ours: one line, nothing hidden.

    Credentials are masked; characters that do not show, or that move the text, become escapes.
    """
    line = " ".join(mask_text(text).split())
    return "".join(char if char.isprintable() else f"\\u{{{ord(char):X}}}" for char in line)


def mask_secrets(value: Any) -> Any:
    """Return a JSON value with each credential masked, known by its shape or by the name of its
    field.

    Texts of a list that form one together are masked as well: `["curl", "-u", "a:b"]`.
    """
    return _masked(value, None)


def _masked(value: Any, said: str | None) -> Any:
    """Mask what the rule finds; `said` is the name around the value that says secret, or None."""
    if isinstance(value, Mapping):
        told = told_within(value, said)
        return {
            shown: _masked(item, name)
            for (_, item, name), shown in zip(
                told, told_apart(mask_text(str(key)) for key in value), strict=True
            )
        }
    if isinstance(value, (list, tuple)):
        return masked_together([_masked(item, name) for _, item, name in told_within(value, said)])
    if said is not None and is_credential(said, value):
        return mask(str(value))
    if not isinstance(value, str):
        return value
    masked = mask_text(value)
    return masked if said is None or masked == value else mask(value)


def masked_together(items: list[Any]) -> list[Any]:
    """Mask the texts of a list that are a credential when they are read as one text."""
    places = [place for place, item in enumerate(items) if isinstance(item, str)]
    if len(places) < 2:
        return items
    begins = list(accumulate((len(items[place]) + 1 for place in places), initial=0))
    for found in find_secrets(" ".join(items[place] for place in places)):
        first, end = bisect_right(begins, found.start) - 1, bisect_left(begins, found.end)
        for place in places[first:end]:
            items[place] = mask(items[place])
    if hides_secret(" ".join(items[place] for place in places)):
        return [mask(item) if isinstance(item, str) else item for item in items]
    return items


def told_apart(names: Iterable[str]) -> Iterator[str]:
    """Yield the names of an object's fields once some are masked, with marks that tell apart those
    that are masked alike: `a`, `a′`, `a′2`, `a′3`."""
    taken: set[str] = set()
    times: Counter[str] = Counter()
    for name in names:
        shown = alike = name
        while shown in taken:
            times[alike] += 1
            shown = f"{alike}′{times[alike]}" if times[alike] > 1 else f"{alike}′"
        taken.add(shown)
        yield shown


def plain_words(text: str, longest: int = 2_000) -> str:
    """Return what somebody typed in a form that every record can hold: no lone surrogates."""
    return text[:longest].encode("utf-8", "replace").decode("utf-8")


def recorded_words(text: str, longest: int = 2_000, *, cut: str = _CUT_OFF) -> str:
    """Return what somebody typed as the trail keeps it for good: no lone surrogates, no credential.

    Nobody can remove anything from the trail, and it is in every export (case M08). Of a text that
    is too long the end is left out, and `cut` says so in its place.
    """
    masked = mask_text(plain_words(text, 2 * longest))
    return masked if len(masked) <= longest else masked[: longest - len(cut)] + cut
