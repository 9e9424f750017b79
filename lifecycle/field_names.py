"""The words in a field's name, whatever its style and whichever letters imitate Latin ones."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from lifecycle.folding import seen, visible

_WORD: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_LONGEST_NAME: Final = 200


@lru_cache(maxsize=4096)
def words_of(name: str) -> tuple[str, ...]:
    """Return the words of a field's name in small letters: `X-Forward-To`, `replyTo`, `cc2`.

    Look-alike letters count as the Latin ones; of a very long name only the end is read.
    """
    end = name[-_LONGEST_NAME:]
    if not end.isascii():
        end = "".join(map(_latin, visible(end)))
    return tuple(word.lower() for word in _WORD.findall(end))


def _latin(character: str) -> str:
    """Return what a character looks like; a capital stays one, because it may begin a word."""
    if character.isascii():
        return character
    alike = seen(character)
    return alike.upper() if character.isupper() else alike
