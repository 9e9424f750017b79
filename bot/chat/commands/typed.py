"""Splits what was typed into the command's word and the rest, which stays exactly as it stands.

It also tells which lane a command takes in the inbox, and which commands are stops.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from typing import Final, NamedTuple

from bot.chat.commands.replies import Attached
from lifecycle.errors import Fault, Refused
from lifecycle.first_gate.reading import DOCUMENT_LIMIT_BYTES, announced_size_refused
from lifecycle.text.turned import SIGNS

#: White space and invisible characters. The latter come along when words are copied, or from a
#: keyboard; at the edge of a word they are not part of it.
BLANK: Final = "".join(
    chr(code)
    for first, last in (
        *((0x09, 0x0D), (0x1C, 0x20), (0x85, 0x85), (0xA0, 0xA0), (0xAD, 0xAD), (0x61C, 0x61C)),
        *((0x1680, 0x1680), (0x180E, 0x180E), (0x2000, 0x200F), (0x2028, 0x202F)),
        *((0x205F, 0x206F), (0x3000, 0x3000), (0x3164, 0x3164), (0xFEFF, 0xFEFF)),
    )
    for code in range(first, last + 1)
)
_WORD: Final = re.compile(rf"[{BLANK}]*([^\s{{`@\"]{{1,64}})\s*")
#: The quantifiers are possessive, so that a fence of blanks which is never closed is read once.
_FENCE: Final = re.compile(r"\s*+```(?>(?:json|JSON)?)[ \t]*+\n?+(.*?)```\s*+", re.DOTALL)
_INLINE: Final = re.compile(r"\s*`([^`]*)`\s*", re.DOTALL)
#: The beginning of every lane of a proposal; nothing in these lanes decides anything.
PROPOSING: Final = "p:"
#: Commands that stop one proposal.
STOPS: Final = frozenset({"reject", "roll-back"})
#: Commands that let one proposal go on.
LET_GO: Final = frozenset({"approve", "retry", "settle"})
#: Commands that must take effect although nothing can be stored: the law spools them.
HEARD_UNSTORED: Final = STOPS | {"freeze"}
#: Commands in a lane of their own: they keep their order, and wait for no other command.
_FREEZES: Final = frozenset({"freeze", "thaw"})


class Typed(NamedTuple):
    """A command's word in lower case, and the raw remainder of the text."""

    word: str
    rest: str


def typed(text: str) -> Typed:
    """Split off the first word; nothing else of the text is read, quoted or replaced."""
    found = _WORD.match(text)
    if found is None:
        return Typed("", text)
    return Typed(found[1].strip(BLANK).lower(), text[found.end() :])


def is_stop(text: str) -> bool:
    """Return True for a command that stops one proposal, or everything."""
    return typed(text).word in HEARD_UNSTORED


def takes_back(text: str) -> bool:
    """Return True for a command that takes a proposal back before it begins.

    It must take effect as soon as a stop, but is not heard unstored or in a channel of before: who
    withdraws is told that nothing was done.
    """
    return typed(text).word == "withdraw"


def lane_of(text: str, who: str, number: str) -> str:
    """Return the lane of a command in the inbox; commands of one lane are processed in order.

    `who` is the account, `number` the id of the message. A proposal's tool may take its time, and
    an approval may wait until its card can be read, so stops and freezes have lanes of their own.
    """
    word = typed(text).word
    if word == "propose":
        return f"{PROPOSING}{number}"
    if word in _FREEZES:
        return f"f:{who}"
    return f"x:{who}" if word in STOPS else f"c:{who}"


def begun_id(text: str) -> str | None:
    """Return the id that an `approve` or `retry` names; None for any other command."""
    word, rest = typed(text)
    return split_id(rest)[0] if word == "approve" or tries_again(text) else None


def tries_again(text: str) -> bool:
    """Return True if the command is `retry`.

    What it repeats may be a roll back, so a card that cannot be read must not hold it up.
    """
    return typed(text).word == "retry"


def split_id(rest: str) -> tuple[str, str]:
    """Split `<id> <words>` at any white space; both may be empty."""
    given, *words = rest.strip(BLANK).split(maxsplit=1) or [""]
    return given.strip(BLANK), words[0] if words else ""


def turns_its_id(text: str) -> bool:
    """Return True if a command has a sign before its id that turns what is shown: `1-yap` then
    reads as `pay-1`, so nobody knows which of the two was meant."""
    _, rest = typed(text)
    begin = len(text) - len(rest) + rest.index(split_id(rest)[0])
    return turning_signs(text[:begin]) != ""


def turning_signs(text: str) -> str:
    """Return the signs of a text that turn what is shown, and nothing else of it."""
    return "".join(sign for sign in text if sign in SIGNS)


def bare_id(given: str) -> str:
    """Return an id without the quotes, code marks and punctuation around it, which no id has.

    Full stops behind such a mark do not belong to the id either. Only stops are read in this way;
    an approval must name its proposal exactly.
    """
    begin = next((at for at, char in enumerate(given) if not _is_mark(char)), None)
    if begin is None:
        return given
    end = len(given)
    for at in range(len(given) - 1, begin, -1):
        if _is_mark(given[at]):
            end = at
        elif given[at] != ".":
            break
    return given[begin:end]


def _is_mark(char: str) -> bool:
    return char not in "._-" and unicodedata.category(char)[0] in "PS"


def inline_json(rest: str) -> str:
    """Return the text within a code fence if the whole rest is one, else the rest as it stands."""
    found = _FENCE.fullmatch(rest) or _INLINE.fullmatch(rest)
    return found[1] if found else rest


async def document_bytes(rest: str, attached: Sequence[Attached]) -> bytes:
    """Return the bytes of the document that a command came with: its text and files together.

    The announced sizes are checked before anything is fetched. Several objects are joined as they
    are, so that the parser reports that there are several. Raises Refused: too_large, or
    malformed_json for a file of another kind.
    """
    text = as_bytes(inline_json(rest))
    if not attached:
        return text
    announced_size_refused(len(text) + sum(each.size_bytes for each in attached))
    other = next((each for each in attached if not each.name.lower().endswith(".json")), None)
    if other is not None:
        raise Refused([_no_json_file()])
    parts = [text] if text.strip() else []
    for each in attached:
        fetched = await each.fetch()
        announced_size_refused(len(fetched))
        parts.append(fetched)
    return b"\n".join(parts)


def as_bytes(text: str) -> bytes:
    """Return the bytes that were typed, also those that were not UTF-8."""
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass")


def _no_json_file() -> Fault:
    return Fault(
        "malformed_json",
        required="one .json file",
        actual="a file of another kind",
        suggestion=f"Attach one .json file of at most {DOCUMENT_LIMIT_BYTES} bytes, or write the "
        "JSON behind the command.",
    )
