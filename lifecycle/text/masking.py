"""What others wrote, as it may be shown and kept: no credential in it (design section 8, M08)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from lifecycle.text.disguises import hides_secret
from lifecycle.text.secrets_beside import named_before, named_beside
from lifecycle.text.secrets_found import find_secrets, is_credential, secret_named

_MASK: Final = re.compile(r"‹[a-zA-Z ]{1,40}, \d{1,9} characters›")


def mask(value: str, kind: str = "secret") -> str:
    """Return `‹secret, N characters›`; what is a mask already stays one."""
    return value if _MASK.fullmatch(value) else f"‹{kind}, {len(value)} characters›"


def mask_text(text: str) -> str:
    """Return the text with every credential masked; it need not be JSON, nor well formed.

    Where one is in disguise (escaped, with markup or unseen characters inside) nobody can say
    which characters of the text it is made of: the line is masked whole, and the text where a
    disguise reaches over lines.
    """
    masked = _masked_as_written(text)
    if not hides_secret(masked):
        return masked
    lines = [mask(line) if hides_secret(line) else line for line in masked.split("\n")]
    clear = "\n".join(lines)
    return mask(text) if hides_secret(clear) else clear


def _masked_as_written(text: str) -> str:
    parts, place = [], 0
    for found in find_secrets(text):
        parts += [text[place : found.start], mask(text[found.start : found.end])]
        place = found.end
    return "".join(parts) + text[place:]


def harmless(text: str) -> str:
    """Return what somebody typed as it may stand in a sentence of ours: one line, nothing hidden.

    Credentials are masked; what would not show, or would move the text, is written as an escape.
    """
    line = " ".join(mask_text(text).split())
    return "".join(char if char.isprintable() else f"\\u{{{ord(char):X}}}" for char in line)


def mask_secrets(value: Any) -> Any:
    """Return a JSON value with each credential masked: by its shape or by the name of its field."""
    if isinstance(value, str):
        return mask_text(value)
    if isinstance(value, Mapping):
        return _masked_object(value)
    if isinstance(value, (list, tuple)):
        named = named_before(value)
        return [
            _all_masked(value[place - 1], item) if place in named else mask_secrets(item)
            for place, item in enumerate(value)
        ]
    return value


def _masked_object(value: Mapping[str, Any]) -> dict[str, Any]:
    masked: dict[str, Any] = {}
    beside = named_beside(value)
    for (key, item), shown in zip(value.items(), _names_shown(value), strict=True):
        named = secret_named(str(key)) or key in beside
        masked[shown] = _all_masked(str(key), item) if named else mask_secrets(item)
    return masked


def _names_shown(names: Iterable[object]) -> Iterator[str]:
    """Yield each name masked, those that are masked alike told apart so that all are seen: `a`,
    `a′`, `a′2`, `a′3`."""
    taken: set[str] = set()
    times: Counter[str] = Counter()
    for name in names:
        shown = alike = mask_text(str(name))
        while shown in taken:
            times[alike] += 1
            shown = f"{alike}′{times[alike]}" if times[alike] > 1 else f"{alike}′"
        taken.add(shown)
        yield shown


def _all_masked(name: str, value: Any) -> Any:
    """Mask what stands below a name that says secret and is one, as the rule would find it."""
    if isinstance(value, Mapping):
        names = _names_shown(value)
        return {
            shown: _all_masked(name, value[key]) for key, shown in zip(value, names, strict=True)
        }
    if isinstance(value, (list, tuple)):
        return [_all_masked(name, item) for item in value]
    return mask(str(value)) if is_credential(name, value) else value


def plain_words(text: str, longest: int = 2_000) -> str:
    """Return what somebody typed in a form that every record can hold: no lone surrogates."""
    return text[:longest].encode("utf-8", "replace").decode("utf-8")


def recorded_words(text: str, longest: int = 2_000) -> str:
    """Return what somebody typed as the trail keeps it for good: also without a credential.

    What stands in the trail can be taken out of it by nobody, and is in every export (case M08).
    """
    return mask_text(plain_words(text, 2 * longest))[:longest]
