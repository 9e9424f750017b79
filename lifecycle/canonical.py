"""Computes canonical bytes and the digests over them (design section 4, "Canonical bytes")."""

from __future__ import annotations

import hashlib
from base64 import urlsafe_b64encode
from collections.abc import Mapping
from io import BytesIO
from typing import Any, Final

import orjson
import rfc8785

from lifecycle.paths import containers

_SCALARS: Final = frozenset({str, int, bool, type(None)})
_CONTAINERS: Final = frozenset({dict, list, tuple})
#: orjson gives up at 254 levels anyway; the bound also ends the walk of a list that holds itself.
_MOST_LEVELS: Final = 254
#: STRICT_INTEGER refuses what lies beyond ±(2^53-1).
_SORTED: Final = orjson.OPT_SORT_KEYS | orjson.OPT_STRICT_INTEGER
_TOO_DEEP: Final = "the value is nested too deeply for a canonical form"


def canonical_bytes(value: Any) -> bytes:
    """Return the RFC 8785 form of a JSON value as UTF-8.

    Numbers follow the RFC: `1`, `1.0` and `1e0` are all `1`, `-0.0` is `0`. Text is never
    normalised. Raises ValueError for what has no canonical form: NaN, infinities, integers beyond
    ±(2^53-1), lone surrogates, keys that are no strings, any type that is not JSON's, nesting too
    deep to walk.
    """
    if _both_agree(value):
        try:
            return orjson.dumps(value, option=_SORTED)
        except TypeError:
            pass  # rfc8785 is the judge of everything orjson will not write
    return _by_the_rfc(value)


def canonical_fits(value: Any, limit_bytes: int) -> bool:
    """Return whether the canonical form has at most `limit_bytes`; no more than that is written.

    Raises ValueError as `canonical_bytes` does, for faults that come before the limit.
    """
    if type(value) is dict and _least_bytes(value) > limit_bytes:
        return False
    if _both_agree(value):
        return len(canonical_bytes(value)) <= limit_bytes
    try:
        rfc8785.dump(value, _Measure(limit_bytes))
    except _FullError:
        return False
    except RecursionError:
        raise ValueError(_TOO_DEEP) from None
    return True


def _least_bytes(document: dict[str, Any]) -> int:
    """Return a lower bound of the size: a byte for every value and one that separates it."""
    return sum(2 * len(container) for _, container in containers(document))


class _FullError(Exception):
    """The limit is reached."""


class _Measure(BytesIO):
    """A sink that counts what is written and stops at a limit."""

    def __init__(self, limit_bytes: int) -> None:
        super().__init__()
        self._left_bytes = limit_bytes

    def write(self, data: Any) -> int:
        self._left_bytes -= len(data)
        if self._left_bytes < 0:
            raise _FullError
        return len(data)


def _by_the_rfc(value: Any) -> bytes:
    try:
        return rfc8785.dumps(value)
    except RecursionError:
        raise ValueError(_TOO_DEEP) from None


def _both_agree(value: Any, levels: int = _MOST_LEVELS) -> bool:
    """Return whether orjson with sorted keys writes exactly what RFC 8785 demands.

    They differ over floats (spelling, -0, NaN), over types that orjson knows and JSON does not, and
    over the order of keys beyond the basic plane (UTF-8 against UTF-16); one key outside ASCII
    therefore needs the slow road. Integers are left to orjson's own strict check.
    """
    kind = type(value)
    if kind is dict:
        for key in value:
            if type(key) is not str or not key.isascii():
                return False
        inside = value.values()
    elif kind in _CONTAINERS:
        inside = value
    else:
        return kind in _SCALARS
    if levels == 0:
        return False
    for child in inside:
        kind = type(child)
        if kind not in _SCALARS and not (kind in _CONTAINERS and _both_agree(child, levels - 1)):
            return False
    return True


def sha256_hex(data: bytes) -> str:
    """Return the SHA-256 of `data` as 64 lower-case hex digits."""
    return hashlib.sha256(data).hexdigest()


def digest_of(data: bytes) -> str:
    """Return the digest of stored bytes: `sha256:` and 64 hex digits."""
    return "sha256:" + sha256_hex(data)


def s256(data: bytes) -> str:
    """Return the SHA-256 of `data` as 43 characters of base64url without padding (seed 003)."""
    return urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode("ascii")


def policy_digest(value: Any) -> str:
    """Return `pol1_` and the hex SHA-256 of the policy's canonical form (design section 5).

    Raises ValueError as `canonical_bytes` does.
    """
    return "pol1_" + sha256_hex(canonical_bytes(value))


def r3_document(
    vocabulary: str,
    operation: Mapping[str, Any],
    display: Mapping[str, Any] | None,
    parameters: Mapping[str, Any],
) -> bytes:
    """Serialise the R3 document of one call, once: these bytes are stored and served (seed 003).

    It holds exactly one operation and always `parameters`, empty ones too. `display` is the
    caller's and is left out when None. Raises ValueError as `canonical_bytes` does.
    """
    document: dict[str, Any] = {
        "vocabulary": vocabulary,
        "operations": [dict(operation)],
        "parameters": dict(parameters),
    }
    if display is not None:
        document["display"] = dict(display)
    return canonical_bytes(document)
