"""Where a text holds a credential, and which names hold one. Shared by the rule, cards and logs."""

from __future__ import annotations

import re
from base64 import b64decode
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, Final, NamedTuple

from lifecycle.patterns import compiled


class Secret(NamedTuple):
    """A credential in a text: `text[start:end]`, and what kind of credential it is."""

    start: int
    end: int
    kind: str


_BASIC_KIND: Final = "basic credentials"
_BASIC: Final = r"(?i)\bbasic\s{1,8}(?P<secret>[a-z\d+/]{8,}+={0,2})"

#: Shapes that mean a credential wherever they stand. A group named `secret` narrows the span.
#: Every pattern starts at a literal or at the edge of a word, so that none is quadratic.
_SHAPES: Final = tuple(
    (kind, re.compile(pattern))
    for kind, pattern in (
        (
            "private key",
            r"-----BEGIN [A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----"
            r"(?:(?!-----END )[\s\S])*+(?:-----END [A-Z0-9 ]{0,40}-----)?",
        ),
        ("JSON web token", r"\beyJ[\w-]{5,}+\.[\w-]{4,}+\.[\w-]*+"),
        (
            "bearer token",
            r"(?i)\bbearer\s{1,8}(?P<secret>(?=[\w~+/=-]*[\d.~+/=_-]\w)[\w.~+/=-]{6,}+)",
        ),
        ("bearer token", r"(?i)\bbearer\s{1,8}(?P<secret>(?=[a-z.~+/_-]*[\d=])[\w.~+/=-]{6,}+)"),
        (_BASIC_KIND, _BASIC),
        (
            "password in an address",
            r"(?i)(?<![a-z\d+.-])[a-z][a-z\d+.-]*+://[^\s/:@\"'<>]*+:(?P<secret>[^\s/@\"'<>]++)@",
        ),
        ("AWS key", r"\b(?:AKIA|ASIA|ABIA|ACCA)[A-Z\d]{16}\b"),
        ("GitHub token", r"\b(?:gh[pousr]_[A-Za-z\d]{30,}+|github_pat_\w{22,}+)"),
        ("GitLab token", r"\bgl(?:pat|ptt|dt|rt|cbt|soat)-[\w-]{20,}+"),
        ("Slack token", r"\bxox[a-z](?:-[A-Za-z\d]+)?-[\w-]{10,}+|\bxapp-\d-[\w-]{10,}+"),
        ("Slack webhook", r"\bhooks\.slack\.com/(?:services|workflows)/(?P<secret>[\w/-]{12,}+)"),
        ("Discord token", r"\b[MNO][\w-]{23,27}\.[\w-]{6,7}\.[\w-]{27,}+"),
        ("Discord webhook", r"\bdiscord(?:app)?\.com/api/webhooks/\d+/(?P<secret>[\w-]{20,}+)"),
        ("API key", r"\bsk-(?:ant-|proj-|or-|svcacct-)?[\w-]{20,}+"),
        ("payment key", r"\b[rsp]k_(?:live|test)_\w{8,}+|\bwhsec_[A-Za-z\d+/=]{16,}+"),
        ("Google key", r"\bAIza[\w-]{35}|\bya29\.[\w-]{20,}+|\bGOCSPX-[\w-]{20,}+"),
        ("registry token", r"\bnpm_[A-Za-z\d]{36}|\bpypi-[\w-]{32,}+|\bhf_[A-Za-z\d]{30,}+"),
        ("mail key", r"\bSG\.[\w-]{16,}+\.[\w-]{16,}+|\bkey-[a-f\d]{32}\b"),
        ("telephony key", r"\bSK[a-f\d]{32}\b"),
        ("Telegram token", r"\b\d{8,10}:AA[\w-]{32,}+"),
        ("age key", r"\bAGE-SECRET-KEY-1[A-Z\d]{50,}+"),
    )
)

#: What a text of such a shape holds for sure; looking for it first spares most texts the pattern.
_HOLDS: Final[dict[str, tuple[str, ...]]] = {
    "private key": ("-----BEGIN ",),
    "JSON web token": ("eyJ",),
    "AWS key": ("AKIA", "ASIA", "ABIA", "ACCA"),
    "GitHub token": ("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"),
    "GitLab token": ("glpat-", "glptt-", "gldt-", "glrt-", "glcbt-", "glsoat-"),
    "Slack token": ("xox", "xapp-"),
    "Slack webhook": ("hooks.slack.com/",),
    "Discord webhook": ("/api/webhooks/",),
    "API key": ("sk-",),
    "payment key": ("k_live_", "k_test_", "whsec_"),
    "Google key": ("AIza", "ya29.", "GOCSPX-"),
    "registry token": ("npm_", "pypi-", "hf_"),
    "mail key": ("SG.", "key-"),
    "telephony key": ("SK",),
    "Telegram token": (":AA",),
    "age key": ("AGE-SECRET-KEY-1",),
    "password in an address": ("://",),
}

#: One look for something that every shape and every name of a credential holds; what has none of
#: it is spared all the looks for one of them. Beyond ASCII, where letters of more than one kind are
#: the same without case, every shape is looked for.
_MAY_HOLD: Final = compiled(
    "(?i:bearer|basic|"
    # what `secret_named` can say yes to
    "pass|pwd|pw|secret|token|apikey|credential|authorization|cookie|jwt|otp|pin|cv[cv]|mnemonic|"
    "key)|"
    + "|".join(re.escape(part) for kind in _HOLDS for part in _HOLDS[kind])
    + r"|[MNO][\w-]{23}"
)

#: `name = value`, `"name": "value"`, `name: value`, in prose, in a shell line, in broken JSON.
_NAME: Final = re.compile(
    r"(?:\\?\"(?P<quoted>[^\"\\\n]{1,200}+)\\?\"|(?<![\w.-])(?P<bare>[A-Za-z_][\w.-]*+)'?)"
    r"[^\S\n]{0,8}+(?P<sign>:=|=>|[:=])\s{0,8}+"
)
_VALUE: Final = re.compile(
    r"\\?\"(?P<double>(?:[^\"\\]|\\.)*+)|'(?P<single>[^'\n]*+)|(?P<plain>[^\s\"',;&<>(){}\[\]]++)",
    re.DOTALL,
)
_FLAG: Final = re.compile(
    r"(?<![\w-])--?(?P<bare>[a-z][\w-]*+)\s{1,8}(?P<plain>[^\s\"'-][^\s\"']*+)"
)
_TELLING: Final = re.compile(r"\d|[A-Za-z\d][^\sA-Za-z\d.,:;!?-]|[^\sA-Za-z\d.,:;!?'-][A-Za-z\d]")
#: Our own mask, closed forms, and words alone: `$uper5ecret!` and `hidden hunter2` are none.
_STAND_IN: Final = re.compile(
    r"‹.*|<[^<>]*>|\{.*\}|\[.*\]|\(.*\)"  # a slot of a template, a note in brackets
    r"|%\w+%|%\(\w+\)s|%s|\$\{.*\}|\$\(.*\)|(?-i:\$[A-Z_][A-Z\d_]*|\$[a-z_]+)"  # a variable
    r"|[*•]{3,}\w{0,4}|[.x_-]{3,}"
    r"|(?:env|vault|secret|secretref|op|ssm|aws-sm|keyring)://?.*"
    r"|(?:none|null|true|false|redacted|masked|hidden|changed|rotated|required|optional)[.!]?",
    re.IGNORECASE | re.DOTALL,
)
_SHORTEST: Final = 4

_WORD: Final = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")
_SECRET_WORDS: Final = frozenset(
    """
    password passwords passwd passphrase passcode pwd pw secret secrets token tokens apikey apikeys
    credential credentials authorization cookie cookies jwt otp totp pin cvv cvc cvv2 mnemonic
    privatekey secretkey accesskey authkey bearer
    """.split()
)
_KEY_WORDS: Final = frozenset(
    """
    api access private secret account signing encryption auth master service client session shared
    storage license ssh webhook deploy
    """.split()
)
#: `next_token` pages through a list; `max_tokens` counts.
_HARMLESS_TOKENS: Final = frozenset(
    "page next previous prev continuation cursor sync max min total count prompt input output "
    "completion used".split()
)

_NAMES_BESIDE: Final = ("name", "key", "variable", "header", "field")


@lru_cache(maxsize=4096)
def secret_named(key: str) -> bool:
    """Say whether a field of this name holds a credential: `api_key`, `clientSecret`, `PGPASSWORD`.

    The end of the name decides: `password` and `db.password` do, `password_policy`, `secret_env`
    and `next_page_token` do not.
    """
    words = [word.lower() for word in _WORD.findall(key[-200:])]
    while len(words) > 1 and words[-1].isdecimal():
        words.pop()
    if not words:
        return False
    last, before = words[-1], words[-2] if len(words) > 1 else ""
    if last in ("token", "tokens"):
        return before not in _HARMLESS_TOKENS
    if last in ("key", "keys"):
        return before in _KEY_WORDS
    return last in _SECRET_WORDS or last.endswith(("password", "passwd", "apikey", "secret"))


def named_beside(value: Mapping[str, Any]) -> bool:
    """Say whether the `value` in an object is a credential by the name that stands beside it.

    So lists of variables and headers are written: `{"name": "DB_PASSWORD", "value": "..."}`.
    """
    if "value" not in value:
        return False
    names = (value.get(key) for key in _NAMES_BESIDE)
    return any(isinstance(name, str) and secret_named(name) for name in names)


def stand_in(value: str) -> bool:
    """Say whether a value only stands for a credential: empty, masked, a template, a reference."""
    bare = value.strip()
    return not bare or _STAND_IN.fullmatch(bare) is not None


def find_secrets(text: str) -> tuple[Secret, ...]:
    """Find the credentials in a text, JSON or not; the spans are in order and never overlap.

    Where spans meet they are joined, so that what is left after masking holds no part of either.
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
    for kind, shape in _SHAPES:
        if kind in _HOLDS and not any(part in text for part in _HOLDS[kind]):
            continue
        group = "secret" if "secret" in shape.groupindex else 0
        for match in shape.finditer(text):
            if not stand_in(match[group]) and (kind != _BASIC_KIND or _pair(match[group])):
                yield Secret(*match.span(group), kind)
    yield from _assigned(text)


def _assigned(text: str) -> Iterator[Secret]:
    place = 0
    while match := _NAME.search(text, place):
        name, place = match["quoted"] or match["bare"], match.end()
        value = _VALUE.match(text, place) if secret_named(name) else None
        if value is None:
            continue
        place, group = value.end(), str(value.lastgroup)
        if _counts(value[group], group, match["sign"]):
            yield Secret(*value.span(group), "value of " + name)
    for match in _FLAG.finditer(text):
        if secret_named(match["bare"]) and _counts(match["plain"], "plain", "="):
            yield Secret(*match.span("plain"), "value of " + match["bare"])


def _counts(value: str, group: str, sign: str) -> bool:
    """Tell `password: hunter2` from `password: please choose one`."""
    if stand_in(value) or (group == "plain" and value.startswith(("http://", "https://"))):
        return False
    if group != "plain":
        return True
    return len(value) >= _SHORTEST and (sign == "=" or _TELLING.search(value) is not None)


def _pair(encoded: str) -> bool:
    """Tell `Basic dXNlcjpwYXNz` from `basic training`: what is encoded is `user:password`."""
    try:
        return b":" in b64decode(encoded, validate=True)
    except ValueError:
        return False
