"""A credential in disguise: what a reader, or whoever decodes once, has of it in the clear."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final
from unicodedata import normalize

from lifecycle.text.folding import visible
from lifecycle.text.markup import decoded, without_markup
from lifecycle.text.secrets_found import find_secrets

_ESCAPED: Final = re.compile(r"[%&\\]|=\?")
#: What HTML and Markdown are made of, but for underscores, which are parts of credentials.
_MARKED: Final = re.compile(r"[<*~`|\\]|\]\(")
#: What stands for a value, `token=<your token>` and `token=***`, and is no markup.
_SLOT: Final = re.compile(
    r"(?<=[:=])(\s{0,8}+)(?:<[A-Za-z][\w .-]{0,60}>|\*{3,}\w{0,4})(?=[\s,;\"'`]|$)"
)


def unescaped_forms(text: str) -> tuple[str, ...]:
    """Return a text as written, as seen, in letters of usual width, and with escapes decoded."""
    shown = visible(text)
    narrow = shown if shown.isascii() else normalize("NFKC", shown)
    return text, shown, narrow, decoded(narrow) if _ESCAPED.search(narrow) else narrow


def has_markup(text: str) -> bool:
    """Say whether the text may hold HTML or Markdown."""
    return _MARKED.search(text) is not None


def all_forms(text: str) -> tuple[str, ...]:
    """Return the forms of one text, the last of them without markup."""
    forms = unescaped_forms(text)
    return (*forms, without_markup(forms[-1])) if has_markup(text) else forms


@lru_cache(maxsize=32)  # a card masks each of its values several times
def hides_secret(text: str) -> bool:
    """Say whether a form of the text other than the one written holds a credential."""
    read = _SLOT.sub(r"\1‹›", text)
    return any(find_secrets(form) for form in set(all_forms(read)) - {read})
