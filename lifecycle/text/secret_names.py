"""Say whether the name of a field says that it holds a credential.

The law: the end of the name decides, in any style and letter case. It is a word that means a
credential by itself (`_ALONE`, `_WHOLE`), or one that does so behind another (`_BEHIND`: `key`
behind `api`), and it counts as well at the end of a word that is several words in one
(`Datenbankpasswort`, `SSHKEY`). Any `token` is one but for those that page or count
(`_HARMLESS_TOKENS`). `password_new` and `secret_value` are read without their last word;
`password_policy`, `secret_env` and `public_key` say something else.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from lifecycle.text.field_names import Words, end_of, readings_of

#: Credentials as a word of their own. Within other words these letters mean nothing: `shipin`.
_ALONE: Final = frozenset(
    "pw credential credentials authorization cookie cookies jwt otp totp pin cvv cvc mnemonic "
    "bearer".split()
)
#: Credentials as a word, and at the end of one.
_WHOLE: Final = frozenset(
    "password passwords passwd passphrase passcode pwd passwort kennwort secret secrets".split()
)
#: A key of one of these opens something; `primary_key` and `sort_key` do not.
_KEY_OF: Final = frozenset(
    "api access private secret account signing encryption auth master service client session "
    "shared storage license ssh webhook deploy".split()
)
#: In prose fewer do, as doors and sessions have keys, too: `The session key: bring a laptop.`
KEYS_IN_PROSE: Final = frozenset(
    "api access private secret signing encryption auth ssh license".split()
)
#: After one of these `pass` is a password, and not something that passed.
_PASS_OF: Final = frozenset(
    "db database user admin root smtp imap mail ftp ssh http proxy mysql pg postgres redis "
    "login".split()
)
_CODE_OF: Final = frozenset("recovery otp seed mfa totp".split())
#: By its last word: the words behind which that is a credential, `api_key`, `pass_word`.
_BEHIND: Final = {
    **dict.fromkeys(("key", "keys"), _KEY_OF),
    "pass": _PASS_OF,
    **dict.fromkeys(("word", "wd"), frozenset({"pass"})),
    # A `boarding_pass_code` is none, so that `pass` and `code` count in one word only.
    **dict.fromkeys(("code", "codes"), _CODE_OF),
    "phrase": _CODE_OF | {"pass"},
}
_TOKENS: Final = frozenset({"token", "tokens"})
#: `next_token` pages through a list; `max_tokens` counts.
_HARMLESS_TOKENS: Final = frozenset(
    "page next previous prev continuation cursor sync max min total count prompt input output "
    "completion used".split()
)
#: In one word with `token` these make it a credential; `nexttoken` is none.
_TOKEN_OF: Final = _KEY_OF | frozenset("refresh csrf bot bearer id".split())
#: Ends of a word that is several words in one.
_ENDS: Final = (
    *_WHOLE,
    *(before + last for last, words in _BEHIND.items() for before in words),
    *(before + "token" for before in _TOKEN_OF),
)
#: A name still holds a credential if one of these follows that of the credential.
_HOLDERS: Final = frozenset({"value", "string"})
#: Words after `password` that tell which password it is.
_WHICH: Final = frozenset("old new current confirm confirmation repeat again".split())
_PASSWORDS: Final = frozenset("password passwd pwd passphrase passcode passwort".split())

_PARTS: Final = _ALONE | _WHOLE | _CODE_OF | {"key", "pass", "token"}
#: Every name that says secret holds one of these.
NAME_PARTS: Final = tuple(
    sorted(part for part in _PARTS if not any(each in part for each in _PARTS - {part}))
)


def secret_named(name: str) -> bool:
    """Return True if a field of this name holds a credential: `api_key`, `clientSecret`,
    `PGPASSWORD`."""
    return _is_secret(end_of(name))


@lru_cache(maxsize=4096)
def _is_secret(name: str) -> bool:
    return any(map(_say_secret, readings_of(name)))


def _say_secret(words: Words) -> bool:
    if not words:
        return False
    last, before = words[-1], words[-2] if len(words) > 1 else ""
    if last in _TOKENS:
        return before not in _HARMLESS_TOKENS
    if last in _HOLDERS and before:
        return _say_secret(words[:-1])
    if before in _BEHIND.get(last, ()) or (last in _WHICH and before in _PASSWORDS):
        return True
    return last in _ALONE or last.endswith(_ENDS)
