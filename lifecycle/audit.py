"""The audit trail has one entry for each event, chained to the entry before (design section 10)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any, Final, NamedTuple

import orjson

from lifecycle.canonical import canonical_bytes, sha256_hex
from lifecycle.event_kinds import EventKind
from lifecycle.proposal import Identity

GENESIS: Final = "0" * 64
#: With these options orjson refuses subclasses, datetimes and dataclasses, which go the slow road.
_EXACTLY: Final = (
    orjson.OPT_SORT_KEYS
    | orjson.OPT_STRICT_INTEGER
    | orjson.OPT_PASSTHROUGH_SUBCLASS
    | orjson.OPT_PASSTHROUGH_DATETIME
    | orjson.OPT_PASSTHROUGH_DATACLASS
)

#: Anybody who may speak, or give an emoji, can bring about any number of entries of these kinds.
_ATTEMPTS: Final = frozenset({EventKind.IGNORED, EventKind.DEDUPLICATED, EventKind.PERMIT_REFUSED})
#: Given again by somebody whose approval counts, a ✅ stands for that approval.
_APPROVED_AGAIN: Final = "already_counted"


class AuditEvent(NamedTuple):
    """One event before it has a place in the chain; `at` is RFC 3339 UTC."""

    at: str
    kind: str
    actor: Identity | None = None
    proposal_id: str | None = None
    source: str | None = None
    target: str | None = None
    surface: str | None = None
    event_id: str | None = None
    digest: str | None = None
    policy_digest: str | None = None
    reason: str | None = None
    details: Mapping[str, Any] = MappingProxyType({})


class AuditEntry(NamedTuple):
    """An event with its place: `seq` from 1, `entry_hash` over `prev_hash` and the content."""

    seq: int
    event: AuditEvent
    prev_hash: str
    entry_hash: str = ""

    def content(self) -> dict[str, Any]:
        """Return the hashed fields; absent values are null."""
        return self.content_with(dict(self.event.details))

    def content_with(self, details: Any) -> dict[str, Any]:
        """Return the hashed fields with `details` in whatever form is serialised alike."""
        event = self.event
        return {
            "seq": self.seq,
            "at": event.at,
            "proposal_id": event.proposal_id,
            "kind": event.kind,
            "from": event.source,
            "to": event.target,
            "actor": event.actor.as_json() if event.actor else None,
            "surface": event.surface,
            "event_id": event.event_id,
            "digest": event.digest,
            "policy_digest": event.policy_digest,
            "reason": event.reason,
            "details": details,
        }

    def as_json(self) -> dict[str, Any]:
        """Return the exported form: the content and both hashes."""
        return self.content() | {"prev_hash": self.prev_hash, "entry_hash": self.entry_hash}

    def hash_with(self, details: bytes) -> str:
        """Return the hash of the entry, given its details in canonical form; names are ASCII."""
        try:
            data = orjson.dumps(self.content_with(orjson.Fragment(details)), option=_EXACTLY)
        except TypeError:
            data = canonical_bytes(self.content())
        return sha256_hex(self.prev_hash.encode() + b":" + data)


def is_mere_attempt(kind: str, target: str | None, reason: str | None) -> bool:
    """Return True for an entry, by its kind, `to` and reason, that the law never looks at: it tells
    of an attempt without effect, and a proposal may have hundreds of thousands of them."""
    return kind in _ATTEMPTS and target is None and reason != _APPROVED_AGAIN


def chained(event: AuditEvent, seq: int, prev_hash: str) -> tuple[AuditEntry, bytes]:
    """Give `event` its place behind the entry whose hash is `prev_hash`.

    Return the entry, and the canonical form of its details, which is made only once.
    """
    details = canonical_bytes(dict(event.details))
    entry_hash = AuditEntry(seq, event, prev_hash).hash_with(details)
    return AuditEntry(seq, event, prev_hash, entry_hash), details


def broken_links(exported: Iterable[Mapping[str, Any]], head: str | None = None) -> list[str]:
    """Return a sentence for every broken link of exported entries; empty if all links hold.

    `head` is an anchor: a hash that must occur as an entry's hash, so that a cut tail is noticed.
    """
    problems: list[str] = []
    expected_prev, expected_seq, seen_head = GENESIS, 1, head in (None, GENESIS)
    for entry in exported:
        seq = entry.get("seq")
        if seq != expected_seq:
            problems.append(f"entry {seq}: expected entry {expected_seq} here")
        if entry.get("prev_hash") != expected_prev:
            problems.append(f"entry {seq}: prev_hash does not name the entry before it")
        if entry.get("entry_hash") != hash_of_exported(entry):
            problems.append(f"entry {seq}: its content does not fit its entry_hash")
        seen_head = seen_head or entry.get("entry_hash") == head
        expected_prev = str(entry.get("entry_hash"))
        expected_seq = seq + 1 if isinstance(seq, int) else expected_seq + 1
    if not seen_head:
        problems.append(f"no entry has the anchored hash {head}: the tail was cut or rewritten")
    return problems


def hash_of_exported(entry: Mapping[str, Any]) -> str:
    """Return the hash that an exported entry must carry."""
    content = {k: v for k, v in entry.items() if k not in ("prev_hash", "entry_hash")}
    try:
        data = canonical_bytes(content)
    except ValueError:
        return "(has no canonical form)"
    return sha256_hex(str(entry.get("prev_hash")).encode() + b":" + data)
