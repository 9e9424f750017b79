"""Read the single values of a YAML file, and tell why others are not read."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any, Final

#: Some readers take 0755 for 755, others for 493.
_PADDED: Final = re.compile(r"[+-]?0[0-9]")
#: A larger number has no exact form in the policy's canonical form.
_LARGEST_WHOLE: Final = 2**53 - 1
#: Characters that no file, address, program or digest can hold: NUL, and halves of characters.
UNWRITABLE: Final = re.compile("[\0\ud800-\udfff]")
_NO_NUMBER: Final = (
    "this number is not read here; write it in decimal digits, finite and shorter, without a 0 "
    "before them; an id stands in quotes"
)
_NO_TEXT: Final = r"a text here holds no NUL (\0) and no half of a character (\ud800)"


def _whole(text: str) -> int:
    if _PADDED.match(text):
        raise ValueError(text)
    number = int(text, 10)
    if abs(number) > _LARGEST_WHOLE:
        raise ValueError(text)
    return number


def _finite(text: str) -> float:
    number = float(text)
    if _PADDED.match(text) or not math.isfinite(number):
        raise ValueError(text)
    return number


def _text(text: str) -> str:
    if UNWRITABLE.search(text):
        raise ValueError(ascii(text))
    return text


def _one_of(**words: Any) -> Callable[[str], Any]:
    """Return a reader of these words, in any letter case, and of no others.

    It must check them, since a tag may stand before any word.
    """

    def read(text: str) -> Any:
        if text.lower() not in words:
            raise ValueError(text)
        return words[text.lower()]

    return read


#: The reader of each kind of scalar; it raises ValueError for what is not read here.
SCALARS: Final[dict[str, Callable[[str], Any]]] = {
    "str": _text,
    "int": _whole,
    "float": _finite,
    "bool": _one_of(true=True, false=False),
    "null": _one_of(**{"": None, "~": None, "null": None}),
    "timestamp": _text,  # a date stays a text, and is read strictly if needed
}
#: Why a scalar of a kind cannot be read.
UNREAD: Final = {
    "str": _NO_TEXT,
    "timestamp": _NO_TEXT,
    "int": _NO_NUMBER,
    "float": _NO_NUMBER,
    "bool": "write true or false, without a tag",
    "null": "nothing is meant by this tag; write the value alone",
}
