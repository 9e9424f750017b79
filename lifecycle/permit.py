"""The permit is a signed right to make exactly one call (design section 7, seeds 000 and 003).

A token is `base64url(canonical JSON).key id.base64url(HMAC-SHA256)`; the signature covers
everything before the second point. The store knows whether a permit was used; the token does not.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Final

from pydantic import ConfigDict, TypeAdapter
from pydantic.dataclasses import dataclass as checked

from lifecycle.canonical import canonical_bytes
from lifecycle.errors import PermitRefused
from lifecycle.proposal import Verb

LONGEST_VALIDITY_MS: Final = 3_600_000
_LONGEST_TOKEN: Final = 8_192
_SHORTEST_KEY: Final = 32
_KEY_ID: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")


@checked(config=ConfigDict(strict=True, extra="forbid"), frozen=True, slots=True)
class Permit:
    """What one call is bound to; times in ms UTC, valid from `not_before_ms` to `expires_at_ms`.

    Raises ValueError for a validity of more than an hour.
    """

    permit_id: str
    proposal_id: str
    digest: str
    r3_uri: str
    r3_s256: str
    tool: str
    actor: str
    verb: str
    attempt: int
    policy_digest: str
    not_before_ms: int
    expires_at_ms: int
    nonce: str

    def __post_init__(self) -> None:
        """Check the one bound that no issuer may widen."""
        if self.expires_at_ms - self.not_before_ms > LONGEST_VALIDITY_MS:
            raise ValueError("a permit is valid for at most one hour")


@dataclass(frozen=True, slots=True)
class KeyRing:
    """The keys that sign permits, by id: `current` signs, all of them verify.

    To rotate, add a key, make it current, and drop the old one an hour later. Raises ValueError
    for a ring that cannot sign or a key under 32 bytes.
    """

    keys: Mapping[str, bytes] = field(repr=False)
    current: str

    def __post_init__(self) -> None:
        """Refuse a ring that would sign with nothing."""
        if self.current not in self.keys:
            raise ValueError("the current key must be one of the keys")
        for key_id, key in self.keys.items():
            if not _KEY_ID.fullmatch(key_id) or len(key) < _SHORTEST_KEY:
                raise ValueError("a key has an id of [A-Za-z0-9_-] and at least 32 bytes")


_PERMITS: Final = TypeAdapter(Permit)
_BOUND: Final = tuple(each.name for each in fields(Permit))


def issue(permit: Permit, ring: KeyRing) -> str:
    """Return the signed token of a permit."""
    body = _encoded(canonical_bytes({name: getattr(permit, name) for name in _BOUND}))
    signed = f"{body}.{ring.current}"
    return f"{signed}.{_signature(signed, ring.keys[ring.current])}"


def read(token: str, ring: KeyRing) -> Permit:
    """Return the permit in a token whose signature holds.

    Raises PermitRefused `permit_signature_invalid` for all else: another key, a changed byte, a
    text that is no token.
    """
    body, key_id, signature = _parts(token)
    key = ring.keys.get(key_id)
    # An unknown key must cost the same time as a known one.
    expected = _signature(f"{body}.{key_id}", key or bytes(_SHORTEST_KEY))
    if not hmac.compare_digest(expected.encode(), signature.encode()) or key is None:
        raise _not_ours()
    try:
        return _PERMITS.validate_json(_decoded(body))
    except ValueError:
        raise _not_ours() from None


def unverified(token: str) -> Permit:
    """Return what a token says, whoever signed it. It may be compared, but must not be acted on.

    Raises PermitRefused `permit_signature_invalid` for a text that is no token.
    """
    try:
        return _PERMITS.validate_json(_decoded(_parts(token)[0]))
    except ValueError:
        raise _not_ours() from None


def check(
    permit: Permit,
    *,
    digests: tuple[str, str],
    tool: str,
    actor: str,
    verb: str,
    attempt: int,
    policy_digest: str,
    now_ms: int,
) -> None:
    """Raise PermitRefused unless the permit allows this very call now.

    `digests` are the document's digest and the hash of its R3 document, as they are stored.
    Codes in this order: `permit_mismatch`, `digest_mismatch`, `permit_not_yet_valid`,
    `permit_expired`. Time never stands in the way of roll_back: what has begun can be taken back.
    """
    bound = (permit.tool, permit.actor, permit.verb, permit.attempt, permit.policy_digest)
    if bound != (tool, actor, verb, attempt, policy_digest):
        raise PermitRefused("permit_mismatch", "The permit was issued for another call.")
    if (permit.digest, permit.r3_s256) != digests:
        raise PermitRefused("digest_mismatch", "What is to be done is not what was approved.")
    if verb == Verb.ROLL_BACK:
        return
    if now_ms < permit.not_before_ms:
        raise PermitRefused("permit_not_yet_valid", "The permit is not valid yet; wait for it.")
    if now_ms >= permit.expires_at_ms:
        raise PermitRefused("permit_expired", "The permit has expired; propose anew.")


def _parts(token: str) -> tuple[str, str, str]:
    parts = token.split(".") if token.isascii() and len(token) <= _LONGEST_TOKEN else []
    if len(parts) != 3:
        raise _not_ours()
    return parts[0], parts[1], parts[2]


def _signature(signed: str, key: bytes) -> str:
    return _encoded(hmac.new(key, signed.encode("ascii"), hashlib.sha256).digest())


def _encoded(data: bytes) -> str:
    return urlsafe_b64encode(data).rstrip(b"=").decode("ascii")


def _decoded(text: str) -> bytes:
    return urlsafe_b64decode(text + "=" * (-len(text) % 4))


def _not_ours() -> PermitRefused:
    return PermitRefused("permit_signature_invalid", "This is no permit that Signoff issued.")
