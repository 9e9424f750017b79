"""Say whether a value whose name says secret is a credential, or only stands for one.

The law: in a field of its own, or in quotes, everything is one that is no stand-in (`stand_in`),
no flag, no number of tokens and no words of consent to cookies. Behind `name:` in prose it must
also look like one, since people write `password: please choose one`; behind `name=` they do not.
"""

from __future__ import annotations

import re
from typing import Any, Final

from lifecycle.text.field_names import ends_in

#: A credential in prose holds a digit, or a sign inside a word.
_TELLING: Final = re.compile(r"\d|[A-Za-z\d][^\sA-Za-z\d.,:;!?-]|[^\sA-Za-z\d.,:;!?'-][A-Za-z\d]")
#: Stand-ins: our own mask, closed forms, single words; not `$uper5ecret!` or `hidden hunter2`.
_STAND_IN: Final = re.compile(
    r"‹.*|<[^<>]*>|\$?\{(?>(?:[^{}]++|\{[^{}]*+\})*)\}"  # a slot of a template
    r"|(?:\$|%24)?(?:%7b){1,2}(?:%20|\+)?[a-z_.-]++(?:%20|\+)?(?:%7d){1,2}"  # in an address
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
#: A postal code (PIN) of India.
_POSTAL: Final = re.compile(r"[1-9]\d{5}")
_WORDS_ALONE: Final = re.compile(r"[A-Za-z]{1,20}(?:[ ,_-]{1,2}[A-Za-z]{1,20}){0,5}")
_TOKENS: Final = frozenset({"tokens"})
_COOKIES: Final = frozenset({"cookie", "cookies"})
_PIN: Final = frozenset({"pin"})


def stand_in(value: str) -> bool:
    """Return True if a value only stands for a credential: nothing, a mask, a template, a
    reference."""
    bare = value.strip()
    return not bare or _STAND_IN.fullmatch(bare) is not None


def is_credential(name: str, value: Any) -> bool:
    """Return True if a value in a field of this name, which says secret, is a credential.

    null, flags and stand-ins are none, nor are a number of tokens and cookies that are words alone.
    """
    if isinstance(value, str):
        is_consent = ends_in(name, _COOKIES) and _WORDS_ALONE.fullmatch(value.strip()) is not None
        return not (stand_in(value) or is_consent)
    return value is not None and not isinstance(value, bool) and not ends_in(name, _TOKENS)


def assigned(name: str, value: str, sign: str = ":") -> bool:
    """Return True if `name: value`, without quotes, holds a credential: `password: hunter2` does,
    `password: please choose one` does not."""
    if stand_in(value) or value.startswith(("http://", "https://")) or len(value) < _SHORTEST:
        return False
    if ends_in(name, _TOKENS) and value.isdecimal():
        return False
    return sign == "=" or (_TELLING.search(value) is not None and not _is_prose(name, value))


def _is_prose(name: str, value: str) -> bool:
    """Return True if `PIN: 560001` or `Cookie: oats4you` is prose; a cookie is sent as `a=b`."""
    if ends_in(name, _PIN):
        return _POSTAL.fullmatch(value) is not None
    return ends_in(name, _COOKIES) and "=" not in value
