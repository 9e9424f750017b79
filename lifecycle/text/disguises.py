"""Find a credential in disguise: in clear only for a reader, or for whoever decodes once."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from lifecycle.text.folding import narrow, visible
from lifecycle.text.markup import decoded, without_markup
from lifecycle.text.secrets_found import find_secrets

_ESCAPED: Final = re.compile(r"[%&\\]|=\?")
#: The signs of HTML and Markdown, without underscores, which are parts of credentials.
_MARKED: Final = re.compile(r"[<*~`|\\]|\]\(")
#: A stand-in for a value, like `token=<your token>` and `token=***`; it is no markup as `<b>` is.
_SLOT: Final = re.compile(
    r"(?<=[:=])(\s{0,8}+)(?:<(?!(?:[abipqsu]|br|code|del|div|em|font|ins|kbd|mark|small|span|strong"
    r"|sub|sup|tt)\b)[A-Za-z][\w .-]{0,60}>|\*{3,}\w{0,4})(?=[\s,;\"'`]|$)"
)


def unescaped_forms(text: str) -> tuple[str, ...]:
    """Return a text as written, as seen, in usual width, and with its escapes decoded."""
    shown = visible(text)
    usual = narrow(shown)
    return text, shown, usual, decoded(usual) if _ESCAPED.search(usual) else usual


def has_markup(text: str) -> bool:
    """Return True if the text may hold HTML or Markdown."""
    return _MARKED.search(text) is not None


def all_forms(text: str) -> tuple[str, ...]:
    """Return the forms of one text; the last one is without markup."""
    forms = unescaped_forms(text)
    return (*forms, without_markup(forms[-1])) if has_markup(text) else forms


def hides_secret(text: str) -> bool:
    """Return True if another form of the text than the written one holds a credential."""
    return bool(_hidden_in(text))


def hides_lines(text: str) -> bool:
    """Return True if one of these credentials spans lines, as a private key does."""
    return any("\n" in secret for secret in _hidden_in(text))


@lru_cache(maxsize=32)  # a card masks each of its values several times
def _hidden_in(text: str) -> frozenset[str]:
    """Return the credentials that are hidden in a text.

    With its stand-ins taken out the text must hold one, too: what the rule lets pass is shown.
    """
    found = _found_in_forms(text)
    read = _SLOT.sub(r"\1‹›", text) if found else text
    return found if read == text else _found_in_forms(read)


def _found_in_forms(text: str) -> frozenset[str]:
    forms = set(all_forms(text)) - {text}
    return frozenset(form[a:b] for form in forms for a, b, _ in find_secrets(form))
