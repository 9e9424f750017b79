"""Provides the keys that sign permits.

They come from a secret in the environment, else from a file in `data/` that is made once.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import stat
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from bot.process.durable_files import write_first
from bot.process.own_folder import own_folder
from lifecycle.permit import KeyRing

#: The file in `data/`, one key a line: `<key id> <base64url of 32 bytes or more>`. The first key
#: signs, all verify. To rotate, write a new line above the others and drop the old one an hour
#: later.
KEY_FILE: Final = "permit.keys"
#: A shorter secret, in characters, signs nothing, because it can be guessed.
SHORTEST_SECRET: Final = 16
_KEY_BYTES: Final = 32


class KeysUnusable(Exception):
    """The permit keys cannot be used, so nothing could be executed."""


class KeysRefused(KeysUnusable):
    """A configured key may not sign; starting again does not help, a person must change it."""


def load_ring(data: Path, secret_env: str | None, environment: Mapping[str, str]) -> KeyRing:
    """Return the key ring; make a key if there is none. Raises KeysUnusable.

    If the environment has a secret, it signs, and the keys of the file only verify what they have
    signed before.
    """
    path = data / KEY_FILE
    secret = environment.get(secret_env) if secret_env else None
    if secret is None:
        if not path.exists():
            _make(path, secret_env)
        kept = _read(path)
        return KeyRing(kept, next(iter(kept)))
    if len(secret.strip()) < SHORTEST_SECRET:  # blanks do not count: anybody could guess them
        raise KeysRefused(
            f"{secret_env} holds fewer than {SHORTEST_SECRET} characters; permits could be guessed"
        )
    key = hashlib.sha256(b"signoff permit key:" + secret.encode()).digest()
    key_id = "env-" + hashlib.sha256(key).hexdigest()[:8]
    kept = _read(path) if path.exists() else {}
    return KeyRing({key_id: key, **kept}, key_id)


def passing_ring() -> KeyRing:
    """Return a ring with a random key that ends with the process, as a store in memory does."""
    return KeyRing({"memory": secrets.token_bytes(_KEY_BYTES)}, "memory")


def _make(path: Path, secret_env: str | None) -> None:
    """Write a new key whole or not at all, readable by its owner alone.

    If another process has made one meanwhile, that one stays: it may have signed with it already.
    """
    line = f"k-{secrets.token_hex(4)} {_encoded(secrets.token_bytes(_KEY_BYTES))}\n"
    try:
        own_folder(path.parent)
        write_first(path, line.encode("ascii"))
    except OSError as error:
        raise KeysUnusable(
            f"no permit key can be made in {path.parent} ({error.strerror}): let the account that "
            f"runs the bot write there, or set {secret_env or 'permit_secret_env in the config'}"
        ) from None


def _read(path: Path) -> dict[str, bytes]:
    try:
        with path.open(encoding="ascii") as file:
            if stat.S_IMODE(os.fstat(file.fileno()).st_mode) & 0o077:
                raise KeysRefused(f"{path} can be read by others than its owner: chmod 600 {path}")
            lines = [line.split() for line in file if line.strip() and not line.startswith("#")]
    except PermissionError:
        raise KeysRefused(
            f"{path} may not be read by this account: it must belong to the one that runs the bot"
        ) from None
    except OSError as error:
        raise KeysUnusable(f"{path} cannot be read ({type(error).__name__})") from None
    except UnicodeDecodeError:
        lines = []
    try:
        keys = {key_id: _decoded(text) for key_id, text in lines}
        KeyRing(keys, next(iter(keys)))
        if len(keys) < len(lines):
            raise ValueError("of two keys with one id the older one would sign")
    except (ValueError, StopIteration):
        raise KeysRefused(
            f"{path} must hold a line a key: an id of [A-Za-z0-9_-] that no other line has, a "
            f"blank, and at least {_KEY_BYTES} bytes in base64url"
        ) from None
    return keys


def _encoded(data: bytes) -> str:
    return urlsafe_b64encode(data).rstrip(b"=").decode("ascii")


def _decoded(text: str) -> bytes:
    return urlsafe_b64decode(text + "=" * (-len(text) % 4))
