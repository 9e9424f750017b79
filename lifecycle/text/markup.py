"""Return texts as a receiver sees them: no markup, one level of escapes decoded (section 5)."""

from __future__ import annotations

import html
import re
from binascii import Error, a2b_base64, a2b_qp
from typing import Final
from urllib.parse import unquote

from lifecycle.text.folding import BRACKETED, FILLERS, with_blanks, without_brackets
from lifecycle.text.hypertext import renderings, shown
from lifecycle.text.turned import SIGNS, turned

#: A text without these characters holds neither markup nor escapes (`=` counts only before `?`).
#: One class with a condition behind it is found ten times as fast as two alternatives.
_TELLING: Final = re.compile(r"[<>&%\\*_~`|\[\]=](?:(?<!=)|\?)")
#: To a reader it may be an f; folding makes it the s that it is.
_LONG_S: Final = "\u017f"
#: A text without these is shown in the order and with the letters in which it is written.
_TURNING: Final = re.compile(f"[{SIGNS}{BRACKETED}{FILLERS}{_LONG_S}]")

#: The target of a link, with a title in quotes, or with parentheses inside. Every piece ends at the
#: next parenthesis, and a target begins with one, so that no character is read many times.
_TITLED: Final = r"\([^()\"']*+(?:\"[^\"]{0,200}+\"|'[^']{0,200}+')\s{0,8}+\)"
_NESTED: Final = r"\([^()]*+(?>(?:\([^()]*+\)[^()]*+){0,4})\)"
#: A picture or a link: what is shown, and its target. `_LINK` also has targets elsewhere.
INLINE_LINK: Final = re.compile(rf"!?\[(?P<words>[^\[\]]*+)\](?P<target>{_TITLED}|{_NESTED})")
_LINK: Final = re.compile(rf"!?\[([^\[\]]*+)\](?:{_TITLED}|{_NESTED}|\[[^\[\]]*+\])")
#: A picture may be what a link shows.
LINKS_IN_LINKS: Final = 2
_EMPHASIS: Final = "*~`"
_BACKSLASHED: Final = re.compile(r"\\([!-/:-@\[-`{-~\n])")
#: A line that may begin another block: a heading, an item of a list, a line drawn, a table.
_BLOCK: Final = re.compile(r"(?:\A|\n)[ \t>]*+(?:[-+#=|]|[0-9]{1,9}+[.)])")
#: What stands before a heading or an item of a list, with the box of a task.
_BEGINNING: Final = re.compile(
    r"^[ \t]*+(?>(?:(?:-?#{1,6}+|[-+]|[0-9]{1,9}+[.)])[ \t]++(?>(?:\[[ xX]\][ \t])?))+)",
    re.MULTILINE,
)
#: A line drawn, which may make a heading of the line above it.
_DRAWN: Final = re.compile(r"^[ \t]*+(?:=++|-++|(?>(?:-[ \t]++)+)-?+)[ \t]*+$", re.MULTILINE)
_ROW: Final = re.compile(r"^[ \t]*+\|(?!\|).*+$", re.MULTILINE)
#: What stands before each line of a quotation.
_QUOTED: Final = re.compile(r"^[ \t]{0,3}+(?>(?:>[ \t]?+)+)", re.MULTILINE)

_ESCAPE: Final = re.compile(
    r"(?P<percent>(?:%[0-9A-Fa-f]{2})+)"
    r"|(?P<entity>&(?:#0*[0-9]{1,8}|#[xX]0*[0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});?)"
    # A word as the head of a mail has it; blanks between two of them are not shown.
    r"|(?P<word>=\?[^?\s]{1,40}\?[bBqQ]\?[^?\n]{0,1000}\?=(?:\s{1,8}(?==\?))?)"
    r"|\\(?:u\{(?P<braced>[0-9a-fA-F]{1,6})\}|U(?P<eight>00[0-9a-fA-F]{6})"
    r"|[uU](?P<four>[0-9a-fA-F]{4})|x(?P<two>[0-9a-fA-F]{2}))"
    r"|(?P<blank>\\[nrt])"
)
#: Charsets of mails; any other is read as UTF-8, since Python caches each name that it looks up.
_CHARSET: Final = re.compile(
    r"utf[-_]?(?:7|8|16|32)(?:[-_]?[lb]e)?|(?:us-)?ascii|latin-?1|iso-8859-\d{1,2}|windows-125\d"
    r"|koi8-[ru]|big5|gbk|gb2312|gb18030|shift_jis|euc-(?:jp|kr)|iso-2022-(?:jp|kr)"
)
_HIGHEST: Final = 0x10FFFF
_SURROGATES: Final = range(0xD800, 0xE000)


def is_plain(text: str) -> bool:
    """Return True if the text surely holds neither markup nor escapes."""
    if _TELLING.search(text) or ("\n" in text and _BLOCK.search(text)):
        return False
    return text.isascii() or _TURNING.search(text) is None


def variants(text: str) -> tuple[str, ...]:
    """Return the text as written first, then as a receiver may see it, each once.

    Decoding and stripping are tried in both orders, because escapes may hide markup and markup
    may cut an escape in two.
    """
    if is_plain(text):
        return (text,)
    found = _variants(text)
    found += tuple(map(_without_blocks, found))
    found += tuple(way for each in found for way in turned(each))
    found += tuple(map(without_brackets, found))
    found += tuple(each.replace(_LONG_S, "f") for each in found)
    return tuple(dict.fromkeys((*found, *map(with_blanks, found))))


def _without_blocks(text: str) -> str:
    """Return the text as if headings, items of lists and cells were words of one paragraph."""
    if _BLOCK.search(text) is None:
        return text
    bare = _BEGINNING.sub("", _DRAWN.sub("", text))
    return _ROW.sub(lambda row: row[0].replace("|", " "), bare)


def _variants(text: str) -> tuple[str, ...]:
    opened, bare = decoded(text), stripped(text)
    if opened == text:
        return tuple(dict.fromkeys((text, *bare)))
    opened_last = tuple(decoded(each) for each in bare)
    return tuple(dict.fromkeys((text, opened, *bare, *opened_last, *stripped(opened))))


def stripped(text: str) -> tuple[str, ...]:
    """Return the text without HTML and Markdown, in each way it may be shown, the usual one first.

    Each way comes once with underscores kept and once without.
    """
    bare = [_unmarked(each) for each in renderings(text)]
    return tuple(dict.fromkeys(each for kept in bare for each in (kept, kept.replace("_", ""))))


def without_markup(text: str) -> str:
    """Return the text without HTML and Markdown as most readers see it, underscores kept."""
    return _unmarked(shown(text))


def _unmarked(text: str) -> str:
    """Return the text without Markdown."""
    if "[" in text:
        for _ in range(LINKS_IN_LINKS):
            text = _LINK.sub(r"\1", text)
    if "\\" in text:
        text = _BACKSLASHED.sub(r"\1", text)
    if ">" in text:
        text = _QUOTED.sub("", text)
    text = text.replace("||", "")
    for sign in _EMPHASIS:
        text = text.replace(sign, "")
    return text


def decoded(text: str) -> str:
    """Return the text with one level of escapes decoded: `%66`, `&#102;`, `\\u0066`, `\\x66`."""
    return _ESCAPE.sub(_character, text)


def decoded_but_blanks(text: str) -> str:
    """Decode as `decoded` does, and leave `\\n`, `\\r` and `\\t`, with which a path goes on."""
    return _ESCAPE.sub(lambda e: e[0] if e.lastgroup == "blank" else _character(e), text)


def _character(found: re.Match[str]) -> str:
    value = found[0]
    match found.lastgroup:
        case "percent":
            return unquote(value, errors="replace")
        case "entity":
            return html.unescape(value)
        case "blank":
            return " "
        case "word":
            return _mail_word(value)
        case str(group):
            number = int(found[group], 16)
            return value if number > _HIGHEST or number in _SURROGATES else chr(number)
        case _:
            return value


def _mail_word(written: str) -> str:
    """Return what a mail program shows of `=?utf-8?Q?Hello?=`, in any charset that is one."""
    charset, way, data = written.strip()[2:-2].split("?")
    name = charset.partition("*")[0].lower()
    name = name if _CHARSET.fullmatch(name) else "utf-8"
    try:
        if way in "bB":
            read = a2b_base64(data.encode() + b"===")
        else:
            read = a2b_qp(data.encode(), header=True)
        return read.decode(name, "replace")
    except (Error, LookupError, ValueError):
        return written


def leftover_escape(text: str) -> str | None:
    """Return an escape that is still there after one level was decoded, None if there is none.

    A text that was escaped twice hides something from whoever decodes once.
    """
    if _ESCAPE.search(text) is None:
        return None
    for found in _ESCAPE.finditer(decoded(text)):
        if found.lastgroup == "blank" or _is_a_parameter(found[0]):
            continue
        if _character(found) != found[0]:
            return found[0]
    return None


def _is_a_parameter(escape: str) -> bool:
    """Return True for `&region` in an address, which only begins like the entity `&reg;`."""
    return escape[0] == "&" and escape[1] != "#" and escape[-1] != ";"
