"""Find credentials in a text and names that hold one; for the rule, cards and logs alike."""

from __future__ import annotations

import re
from base64 import b64decode
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, Final, NamedTuple

from lifecycle.text.field_names import Words, ends_in, readings_of
from lifecycle.text.patterns import compiled
from lifecycle.text.secret_shapes import BASIC_KIND, COMMAND_KIND, HOLDS, NEEDS, SHAPES, typed_in


class Secret(NamedTuple):
    """A credential in a text: `text[start:end]`, and what kind of credential it is."""

    start: int
    end: int
    kind: str


#: Every credential holds one of these, in its shape or in a name for which `secret_named` is True;
#: other texts need no search. Beyond ASCII, where a letter may have more cases, all are searched.
_MAY_HOLD: Final = compiled(
    "curl|mysql|mariadb|(?i:bearer|basic|sig=|signature=|identified|"
    "pass|kennwort|pw|secret|token|key|credential|authorization|cookie|jwt|otp|pin|cv[cv]|mnemonic|"
    "recovery|seed|mfa)|"
    + "|".join(re.escape(part) for kind in HOLDS for part in HOLDS[kind])
    + r"|[MNO][\w-]{23}"
)

#: `name = value`, `"name": "value"`, `name: value`, in prose, in a shell line, in broken JSON.
_NAME: Final = re.compile(
    r"(?:\\?\"(?P<quoted>[^\"\\\n]{1,200}+)\\?\"|(?<![\w.-])-{0,2}+(?P<bare>[A-Za-z_][\w.-]*+)'?)"
    r"[^\S\n]{0,8}+(?P<sign>:=|=>|[:=])\s{0,8}+"
)
_VALUE: Final = re.compile(
    r"\\?\"(?P<double>[^\"\\]*+(?>(?:\\.[^\"\\]*+)*))|'(?P<single>[^'\n]*+)|(?P<plain>[^\s\"',;&<>(){}\[\]]++)",
    re.DOTALL,
)
_FLAG: Final = re.compile(
    r"(?<![\w-])--?(?P<bare>[a-z][\w-]*+)\s{1,8}(?P<plain>[^\s\"'-][^\s\"']*+)"
)
#: The word before a name, which may be its first half: `API key: …`.
_WORD_BEFORE: Final = re.compile(r"(?<![\w.-])([A-Za-z]{2,20})[ \t]$")
#: The words before `key` that make it a credential in prose; others are keys of doors or sessions.
_KEYS_IN_PROSE: Final = frozenset(
    "api access private secret signing encryption auth ssh license".split()
)
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
_TELLING: Final = re.compile(r"\d|[A-Za-z\d][^\sA-Za-z\d.,:;!?-]|[^\sA-Za-z\d.,:;!?'-][A-Za-z\d]")
#: Stand-ins: our own mask, closed forms, single words; not `$uper5ecret!` or `hidden hunter2`.
_STAND_IN: Final = re.compile(
    r"‹.*|<[^<>]*>|\$?\{(?>(?:[^{}]++|\{[^{}]*+\})*)\}"  # a slot of a template
    r"|\[.*\]|\(.*\)"  # a note in brackets
    r"|%\w+%|%\(\w+\)s|%s|\$\(.*\)|(?-i:\$[A-Z_][A-Z\d_]*|\$[a-z_]+)"  # a variable
    r"|[*•]{3,}\w{0,4}|[.x_`-]{3,}|-{1,2}|n/?a|tb[ad]|todo"
    # The place where it is kept: a path of names, or one name that does not look like a password.
    r"|(?:env|vault|secret|secretref|op|ssm|aws-sm|keyring):/{1,3}"
    r"(?:(?-i:[A-Z][A-Z\d_]*+|[a-z]+(?>(?:[._-][a-z]+)*))|[\w.-][\w .-]*+(?>(?:/[\w .-]++)+))"
    r"(?:[?#][\w=&.-]*+)?"
    r"|(?:none|null|true|false|redacted|masked|hidden|changed|rotated|required|optional)[.!]?",
    re.IGNORECASE | re.DOTALL,
)
_SHORTEST: Final = 4
_LONGEST_NAME: Final = 200

#: Code in place of a value: a call, or an item of a collection.
_CODE: Final = re.compile(
    r"[A-Za-z_]++(?>(?:\.[A-Za-z_]++)*)(?:\([^()\d\n]{0,80}+\)|\[[^\[\]\d\n]{0,80}+\])"
)
#: A postal code (PIN) of India.
_POSTAL: Final = re.compile(r"[1-9]\d{5}")
_WORDS_ALONE: Final = re.compile(r"[A-Za-z]{1,20}(?:[ ,_-]{1,2}[A-Za-z]{1,20}){0,5}")
_TOKENS: Final = frozenset({"tokens"})
_COOKIES: Final = frozenset({"cookie", "cookies"})
_PIN: Final = frozenset({"pin"})

_SECRET_WORDS: Final = frozenset(
    """
    password passwords passwd passphrase passcode pwd pw secret secrets token tokens apikey apikeys
    credential credentials authorization cookie cookies jwt otp totp pin cvv cvc mnemonic
    privatekey secretkey accesskey authkey bearer passwort kennwort
    """.split()
)
_KEY_WORDS: Final = frozenset(
    """
    api access private secret account signing encryption auth master service client session shared
    storage license ssh webhook deploy
    """.split()
)
#: After one of these `pass` is a password, and not something that passed.
_PASS_OF: Final = frozenset(
    """
    db database user admin root smtp imap mail ftp ssh http proxy mysql pg postgres redis login
    """.split()
)
#: A name still holds a credential if one of these follows that of the credential.
_HOLDERS: Final = frozenset({"value", "string"})
#: Words after `password` that tell which password it is.
_WHICH: Final = frozenset("old new current confirm confirmation repeat again".split())
_PASSWORDS: Final = frozenset("password passwd pwd passphrase passcode passwort".split())
#: `_CODES` are credentials after a word of `_CODE_OF`.
_CODES: Final = frozenset({"code", "codes", "phrase"})
_CODE_OF: Final = frozenset("recovery otp seed mfa totp".split())
#: Ends of a word that is several words in one, as in `SSHKEY`.
_SECRET_ENDS: Final = (
    *("password", "passwords", "passwd", "passphrase", "passcode", "pwd", "passwort", "kennwort"),
    *("secret", "secrets", "refreshtoken", "csrftoken", "bottoken", "bearertoken", "idtoken"),
    *(before + last for before in _KEY_WORDS for last in ("key", "keys", "token")),
    *(before + "pass" for before in _PASS_OF),
    *(before + last for before in _CODE_OF for last in _CODES),
)
#: `next_token` pages through a list; `max_tokens` counts.
_HARMLESS_TOKENS: Final = frozenset(
    "page next previous prev continuation cursor sync max min total count prompt input output "
    "completion used".split()
)


def secret_named(key: str) -> bool:
    """Return True if a field of this name holds a credential: `api_key`, `clientSecret`,
    `PGPASSWORD`.

    The end of the name decides: `password` and `db.password` do, `password_policy`, `secret_env`
    and `next_page_token` do not.
    """
    return _is_named_secret(key[-_LONGEST_NAME:])


@lru_cache(maxsize=4096)
def _is_named_secret(key: str) -> bool:
    return any(map(_say_secret, readings_of(key)))


def _say_secret(words: Words) -> bool:
    if not words:
        return False
    last, before = words[-1], words[-2] if len(words) > 1 else ""
    if last in ("token", "tokens"):
        return before not in _HARMLESS_TOKENS
    if last in ("key", "keys"):
        return before in _KEY_WORDS
    if last == "pass":
        return before in _PASS_OF
    if last in _HOLDERS and before:
        return _say_secret(words[:-1])
    if (last in _WHICH and before in _PASSWORDS) or (last in _CODES and before in _CODE_OF):
        return True
    apart = before == "pass" and last in ("word", "wd", "phrase")
    return apart or last in _SECRET_WORDS or last.endswith(_SECRET_ENDS)


def is_credential(name: str, value: Any) -> bool:
    """Return True if a value in a field of this name, which says secret, is a credential.

    null, flags and stand-ins are none, nor are a number of tokens and cookies that are words alone.
    """
    if isinstance(value, str):
        return not (stand_in(value) or _is_consent(name, value))
    return value is not None and not isinstance(value, bool) and not ends_in(name, _TOKENS)


def _is_consent(name: str, value: str) -> bool:
    return ends_in(name, _COOKIES) and _WORDS_ALONE.fullmatch(value.strip()) is not None


def assigned(name: str, value: str) -> bool:
    """Return True if `name: value` holds a credential: `Password: hunter2`."""
    return _counts(name, value, "plain", ":")


def stand_in(value: str) -> bool:
    """Return True if a value only stands for a credential: nothing, a mask, a template, a
    reference."""
    bare = value.strip()
    return not bare or _STAND_IN.fullmatch(bare) is not None


def find_secrets(text: str) -> tuple[Secret, ...]:
    """Return the credentials in a text, JSON or not; the spans are in order and never overlap.

    Overlapping spans are joined, so that no part of either is left after masking.
    """
    if text.isascii() and not _MAY_HOLD.search(text):
        return ()
    joined: list[Secret] = []
    for found in sorted(_found(text)):
        if joined and found.start < joined[-1].end:
            last = joined.pop()
            found = Secret(last.start, max(last.end, found.end), last.kind)
        joined.append(found)
    return tuple(joined)


def _found(text: str) -> Iterator[Secret]:
    lower = text.lower() if text.isascii() else None
    for kind, shape in SHAPES:
        if kind in HOLDS and not any(part in text for part in HOLDS[kind]):
            continue
        if lower is not None and kind in NEEDS and not any(part in lower for part in NEEDS[kind]):
            continue
        group = "secret" if "secret" in shape.groupindex else 0
        for match in shape.finditer(text):
            if not stand_in(match[group]) and (kind != BASIC_KIND or _pair(match[group])):
                yield Secret(*match.span(group), kind)
    for start, end in typed_in(text):
        if not stand_in(text[start:end]):
            yield Secret(start, end, COMMAND_KIND)
    yield from _assigned(text)


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
        is_code = group == "plain" and _CODE.match(text, value.start())
        if not (is_code or (in_prose and _NO_KEY.match(value[group]))) and _counts(
            name, value[group], group, match["sign"]
        ):
            yield Secret(*value.span(group), "value of " + name)
    for match in _FLAG.finditer(text):
        if secret_named(match["bare"]) and _counts(match["bare"], match["plain"], "plain", "="):
            yield Secret(*match.span("plain"), "value of " + match["bare"])
    yield from _said_of(text)


def _is_key_in_prose(text: str, named: re.Match[str]) -> bool:
    if (named["bare"] or "").lower() not in ("key", "keys"):
        return False
    before = _WORD_BEFORE.search(text[max(0, named.start() - 22) : named.start()])
    return before is not None and before[1].lower() in _KEYS_IN_PROSE


def _said_of(text: str) -> Iterator[Secret]:
    may_say = not text.isascii() or _MAY_SAY.search(text)
    for match in _SAID.finditer(text) if may_say else ():
        value = match["secret"].rstrip(".,;:!?)")
        if _SAID_VALUE.fullmatch(value) and not (_NO_KEY.match(value) or stand_in(value)):
            start = match.start("secret")
            yield Secret(start, start + len(value), "value of " + match["name"])
    for match in _ELEMENT.finditer(text):
        if secret_named(match["name"]) and is_credential(match["name"], match["secret"]):
            yield Secret(*match.span("secret"), "value of " + match["name"])


def _counts(name: str, value: str, group: str, sign: str) -> bool:
    """Return True for `password: hunter2`, False for `password: please choose one`."""
    if group != "plain":
        return is_credential(name, value)
    if stand_in(value) or value.startswith(("http://", "https://")) or len(value) < _SHORTEST:
        return False
    if ends_in(name, _TOKENS) and value.isdecimal():
        return False
    return sign == "=" or (_TELLING.search(value) is not None and not _is_said(name, value))


def _is_said(name: str, value: str) -> bool:
    """Return True if `PIN: 560001` or `Cookie: oats4you` is prose; a cookie is sent as `a=b`."""
    if ends_in(name, _PIN):
        return _POSTAL.fullmatch(value) is not None
    return ends_in(name, _COOKIES) and "=" not in value


def _pair(encoded: str) -> bool:
    """Return True if what is encoded is `user:password`; `basic training` is not."""
    try:
        return b":" in b64decode(encoded, validate=True)
    except ValueError:
        return False
