"""What a receiver sees of a text: markup gone, one level of escapes decoded (design section 5)."""

from __future__ import annotations

import html
import re
from typing import Final
from urllib.parse import unquote

from lifecycle.hypertext import shown

#: Characters without which a text holds neither markup nor escapes.
_TELLING: Final = re.compile(r"[<>&%\\*_~`|\[\]]")

#: A picture or a link: what is shown, without where it leads.
_LINK: Final = re.compile(r"!?\[([^\[\]]*+)\](?:\([^()\[\]]*+\)|\[[^\[\]]*+\])")
_EMPHASIS: Final = str.maketrans("", "", "*~`")
_BACKSLASHED: Final = re.compile(r"\\([!-/:-@\[-`{-~])")

_ESCAPE: Final = re.compile(
    r"(?P<percent>(?:%[0-9A-Fa-f]{2})+)"
    r"|(?P<entity>&(?:#[0-9]{1,8}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});?)"
    r"|\\(?:u\{(?P<braced>[0-9a-fA-F]{1,6})\}|[uU](?P<four>[0-9a-fA-F]{4})|x(?P<two>[0-9a-fA-F]{2}))"
    r"|(?P<blank>\\[nrt])"
)
_HIGHEST: Final = 0x10FFFF
_SURROGATES: Final = range(0xD800, 0xE000)


def is_plain(text: str) -> bool:
    """Say whether the text surely holds neither markup nor escapes."""
    return _TELLING.search(text) is None


def variants(text: str) -> tuple[str, ...]:
    """Return the text as written first, then as a receiver may see it, each once.

    Decoding and stripping are tried in both orders, because escapes may hide markup and markup
    may cut an escape in two.
    """
    if is_plain(text):
        return (text,)
    opened, bare = decoded(text), stripped(text)
    if opened == text:
        return tuple(dict.fromkeys((text, *bare)))
    opened_last = tuple(decoded(each) for each in bare)
    return tuple(dict.fromkeys((text, opened, *bare, *opened_last, *stripped(opened))))


def stripped(text: str) -> tuple[str, ...]:
    """Return the text without HTML and Markdown: once with underscores kept, once without."""
    text = shown(text)
    if "[" in text:
        text = _LINK.sub(r"\1", text)
    if "\\" in text:
        text = _BACKSLASHED.sub(r"\1", text)
    text = text.replace("||", "").translate(_EMPHASIS)
    return tuple(dict.fromkeys((text, text.replace("_", ""))))


def decoded(text: str) -> str:
    """Return the text with one level of escapes decoded: `%66`, `&#102;`, `\\u0066`, `\\x66`."""
    return _ESCAPE.sub(_character, text)


def _character(found: re.Match[str]) -> str:
    value = found[0]
    match found.lastgroup:
        case "percent":
            return unquote(value, errors="replace")
        case "entity":
            return html.unescape(value)
        case "blank":
            return " "
        case str(group):
            number = int(found[group], 16)
            return value if number > _HIGHEST or number in _SURROGATES else chr(number)
        case _:
            return value


def leftover_escape(text: str) -> str | None:
    """Return an escape that is still there after one level was decoded, None where there is none.

    Text that was escaped twice hides something from whoever decodes once.
    """
    if _ESCAPE.search(text) is None:
        return None
    for found in _ESCAPE.finditer(decoded(text)):
        if found.lastgroup != "blank" and _character(found) != found[0]:
            return found[0]
    return None
