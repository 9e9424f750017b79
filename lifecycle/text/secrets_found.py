"""Find the credentials in a text, JSON or prose; for the rule, for cards and for logs alike.

The law: a credential is what has the shape of one (`secret_shapes`), what a command is given as a
password, or the value of a name that says secret (`secret_names`): assigned (`name = value`), said
(`the password is …`), or inside an element of that name. What only stands for one is none
(`secret_values`).
"""

from __future__ import annotations

import re
from base64 import b64decode
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from lifecycle.text.patterns import compiled
from lifecycle.text.secret_names import KEYS_IN_PROSE, NAME_PARTS, secret_named
from lifecycle.text.secret_shapes import BASIC_KIND, COMMAND_KIND, FIRST_LOOK, SHAPES, typed_in
from lifecycle.text.secret_values import assigned, is_credential, stand_in


class Secret(NamedTuple):
    """A credential in a text: `text[start:end]`, and what kind of credential it is."""

    start: int
    end: int
    kind: str


#: Every credential holds one of these, in its shape or in its name; other texts need no search.
#: Beyond ASCII, where a letter may have more cases, all are searched.
_MAY_HOLD: Final = compiled(f"{FIRST_LOOK}|(?i:{'|'.join(NAME_PARTS)})")

#: `name = value`, `"name": "value"`, `name: value`, in prose, in a shell line, in broken JSON.
_NAME: Final = re.compile(
    r"(?:\\?\"(?P<quoted>[^\"\\\n]{1,200}+)\\?\"|(?<![\w.-])-{0,2}+(?P<bare>[A-Za-z_][\w.-]*+)'?)"
    r"[^\S\n]{0,8}+(?P<sign>:=|=>|[:=])\s{0,8}+"
)
_VALUE: Final = re.compile(
    r"\\?\"(?P<double>[^\"\\]*+(?>(?:\\.[^\"\\]*+)*))|'(?P<single>[^'\n]*+)|(?P<plain>[^\s\"',;&<>(){}\[\]]++)",
    re.DOTALL,
)
#: `--password hunter2`.
_FLAG: Final = re.compile(
    r"(?<![\w-])--?(?P<name>[a-z][\w-]*+)\s{1,8}(?P<secret>[^\s\"'-][^\s\"']*+)"
)
#: The word before a name, which may be its first half: `API key: …`.
_WORD_BEFORE: Final = re.compile(r"(?<![\w.-])([A-Za-z]{2,20})[ \t]$")
#: A fast search that spares most texts the next one.
_MAY_SAY: Final = compiled(
    r"(?i)(?:pass(?:word|phrase|code)|secret|key|token)[\s\x{1c}-\x{1f}]{1,4}(?:is|was)"
)
#: `The password is hunter2`: said, not assigned.
_SAID: Final = re.compile(
    r"(?i)\b(?P<name>pass(?:word|phrase|code)|(?:client )?secret"
    r"|(?:api|access|secret|private|license)[ _-]?key|(?:api|access|auth|bearer|secret)[ _-]?token)"
    r"\s{1,4}(?:is|was)(?: now)?[:\s]\s{0,4}[\"'`“]?(?P<secret>[^\s\"'`”]{5,200}+)"
)
_METHOD: Final = r"(?:sha|base|md|aes|oauth|utf|rfc|[dr]sa|ecdsa|e[dc]|[rehp]s|p|x|v|pkcs|argon)"
#: No credential: a measure, the name of a method, a file of a public key or certificate.
_NO_KEY: Final = re.compile(
    r"(?i)\d{1,4}-?(?:[a-z]{1,2}|chars?|characters?|digits?|letters?|words?|bits?|days?)(?:\b|-)"
    rf"|{_METHOD}-?\d+(?>(?:[-/](?:{_METHOD}?-?\d{{1,4}}|[a-z]+))*)\Z"
    r"|[\w./~-]+\.(?:pub|crt|cer)\Z"
)
#: Both letters and digits, and no address.
_SAID_VALUE: Final = re.compile(r"(?i)(?!https?:)(?=\S*\d)(?=\S*[a-z])\S+")
#: `<password>hunter2</password>`.
_ELEMENT: Final = re.compile(
    r"<(?P<name>[A-Za-z][\w.:-]{0,60}+)>\s{0,8}+(?P<secret>[^<>\s]{4,200}+)\s{0,8}+</(?P=name)>"
)
#: Code in place of a value: a call, or an item of a collection.
_CODE: Final = re.compile(
    r"[A-Za-z_]++(?>(?:\.[A-Za-z_]++)*)(?:\([^()\d\n]{0,80}+\)|\[[^\[\]\d\n]{0,80}+\])"
)


def find_secrets(text: str) -> tuple[Secret, ...]:
    """Return the credentials in a text; the spans are in order and never overlap."""
    if text.isascii() and not _MAY_HOLD.search(text):
        return ()
    return joined(sorted(_found(text)))


def joined(found: Iterable[Secret]) -> tuple[Secret, ...]:
    """Return the spans, which are in order, with those joined that overlap, so that no part of
    either is left after masking; of the kinds that of the first is kept."""
    apart: list[Secret] = []
    for each in found:
        if apart and each.start < apart[-1].end:
            last = apart.pop()
            each = Secret(last.start, max(last.end, each.end), last.kind)
        apart.append(each)
    return tuple(apart)


def _found(text: str) -> Iterator[Secret]:
    yield from _shaped(text)
    for start, end in typed_in(text):
        if not stand_in(text[start:end]):
            yield Secret(start, end, COMMAND_KIND)
    yield from _assigned(text)
    for match in _FLAG.finditer(text):
        if secret_named(match["name"]) and assigned(match["name"], match["secret"], "="):
            yield _value_of(match["name"], match.span("secret"))
    yield from _said(text)
    for match in _ELEMENT.finditer(text):
        if secret_named(match["name"]) and is_credential(match["name"], match["secret"]):
            yield _value_of(match["name"], match.span("secret"))


def _value_of(name: str, span: tuple[int, int]) -> Secret:
    return Secret(*span, "value of " + name)


def _shaped(text: str) -> Iterator[Secret]:
    lower = text.lower() if text.isascii() else None
    for kind, pattern, holds, needs in SHAPES:
        if holds and not any(part in text for part in holds):
            continue
        if needs and lower is not None and not any(part in lower for part in needs):
            continue
        group = "secret" if "secret" in pattern.groupindex else 0
        for match in pattern.finditer(text):
            if not stand_in(match[group]) and (kind != BASIC_KIND or _pair(match[group])):
                yield Secret(*match.span(group), kind)


def _pair(encoded: str) -> bool:
    """Return True if what is encoded is `user:password`; `basic training` is not."""
    try:
        return b":" in b64decode(encoded, validate=True)
    except ValueError:
        return False


def _assigned(text: str) -> Iterator[Secret]:
    place = 0
    while match := _NAME.search(text, place):
        name, place = match["quoted"] or match["bare"], match.end()
        named = secret_named(name)
        in_prose = not named and _is_key_in_prose(text, match)
        value = _VALUE.match(text, place) if named or in_prose else None
        if value is None:
            continue
        place, group = value.end(), str(value.lastgroup)
        if in_prose and _NO_KEY.match(value[group]):
            continue
        if group != "plain":
            counts = is_credential(name, value[group])
        else:
            is_code = _CODE.match(text, value.start()) is not None
            counts = not is_code and assigned(name, value[group], match["sign"])
        if counts:
            yield _value_of(name, value.span(group))


def _is_key_in_prose(text: str, named: re.Match[str]) -> bool:
    if (named["bare"] or "").lower() not in ("key", "keys"):
        return False
    before = _WORD_BEFORE.search(text[max(0, named.start() - 22) : named.start()])
    return before is not None and before[1].lower() in KEYS_IN_PROSE


def _said(text: str) -> Iterator[Secret]:
    if text.isascii() and not _MAY_SAY.search(text):
        return
    for match in _SAID.finditer(text):
        value = match["secret"].rstrip(".,;:!?)")
        if _SAID_VALUE.fullmatch(value) and not (_NO_KEY.match(value) or stand_in(value)):
            start = match.start("secret")
            yield _value_of(match["name"], (start, start + len(value)))
