"""Turns the small records into rows and back: reviews, cards, messages, permits, audit entries.

A function `…_row` returns the columns of a record, a function `…_of` the record in a row. They keep
no state and run wherever a book does.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from bot.row_kinds import Kinds
from bot.storage.json_text import dump, load
from bot.storage.rows import Row
from bot.storage.told_once import tell_once
from lifecycle.audit import AuditEntry, AuditEvent, is_mere_attempt
from lifecycle.canonical import canonical_bytes
from lifecycle.evidence import unread_packet
from lifecycle.moment import is_moment
from lifecycle.ports import RowUnreadable
from lifecycle.proposal import ActorKind, Identity
from lifecycle.records import Card, EvidencePacket, Message, PermitRecord, Task
from lifecycle.review import Decision, Review

_AUDIT_COLUMNS = (
    "seq",
    "at",
    "proposal_id",
    "kind",
    "source",
    "target",
    "surface",
    "event_id",
    "digest",
    "policy_digest",
    "reason",
    "prev_hash",
    "entry_hash",
)
_EXPORTED_AS = {"source": "from", "target": "to"}

_KINDS_OF_A_REVIEW = Kinds(Review)
_KINDS_OF_A_MESSAGE = Kinds(Message)
_KINDS_OF_A_PACKET = Kinds(EvidencePacket)
_KINDS_OF_A_TASK = Kinds(Task)
_Record = EvidencePacket | Message | PermitRecord | Review | Task


def _columns(record: _Record) -> dict[str, Any]:
    """Return the fields of a record as columns of the same names."""
    return {name: getattr(record, name) for name in record.__slots__}


def _fields(kind: type[_Record], row: Row) -> dict[str, Any]:
    """Return the columns of a row that are fields of such a record."""
    return {name: row[name] for name in kind.__slots__}


def review_row(review: Review) -> dict[str, Any]:
    """Return the columns of a review."""
    return _columns(review)


def review_of(row: Row) -> Review:
    """Return the review in a row. Raises RowUnreadable if the row cannot be a review."""
    values = _fields(Review, row)
    try:
        values["decision"] = Decision(row["decision"])
        values["found_late"] = bool(row["found_late"])
        _KINDS_OF_A_REVIEW.check(values)
    except (ValueError, TypeError) as error:
        words = f"A review of {row['proposal_id']} in the database cannot be read: {error}."
        raise RowUnreadable(words) from error
    return Review(**values)


def card_row(card: Card) -> dict[str, Any]:
    """Return the columns of a card."""
    return {
        "proposal_id": card.proposal_id,
        "surface": card.surface,
        "wanted_version": card.wanted_version,
        "shown_version": card.shown_version,
        "message_ids": dump(card.message_ids),
        "delivered": card.delivered,
        "shows_all": card.full,
        "attempts": card.attempts,
        "retry_at_ms": card.retry_at_ms,
        "why": card.why,
        "posted_at_ms": card.posted_at_ms,
        "claim": card.claim,
        "extra": dump(card.extra),
    }


def card_of(row: Row) -> Card:
    """Return the card in a row.

    What cannot be read of it is taken as empty: the card is then posted again, or counts as showing
    nothing, and other cards do not wait for it.
    """
    ids = _json_or(row["message_ids"], [])
    posted_at_ms = row["posted_at_ms"]
    return Card(
        proposal_id=row["proposal_id"],
        surface=row["surface"],
        wanted_version=_number_or_0(row["wanted_version"]),
        shown_version=_number_or_0(row["shown_version"]),
        message_ids=tuple(ids) if all(isinstance(each, str) for each in ids) else (),
        delivered=bool(row["delivered"]),
        full=bool(row["shows_all"]),
        attempts=_number_or_0(row["attempts"]),
        retry_at_ms=_number_or_0(row["retry_at_ms"]),
        why=_text_or_empty(row["why"]),
        posted_at_ms=posted_at_ms if is_moment(posted_at_ms) else None,
        claim=_text_or_empty(row["claim"]),
        extra=_json_or(row["extra"], {}),
    )


def _number_or_0(value: Any) -> int:
    """Return a number as it is stored, else 0. A card that shows nothing has a negative version."""
    return value if type(value) is int else 0


def _text_or_empty(value: Any) -> str:
    """Return a text as it is stored, else an empty one."""
    return value if isinstance(value, str) else ""


def _json_or(text: Any, otherwise: Any) -> Any:
    """Return the value of a JSON text if it has the type of `otherwise`, else `otherwise`."""
    try:
        value = load(text)
    except (ValueError, TypeError):
        return otherwise
    return value if isinstance(value, type(otherwise)) else otherwise


def _object(text: str) -> dict[str, Any]:
    """Return the object in a JSON text; raises ValueError or TypeError if there is none."""
    value = load(text)
    if not isinstance(value, dict):
        raise TypeError("there is no JSON object in it")
    return value


def message_row(message: Message) -> dict[str, Any]:
    """Return the columns of a message."""
    return _columns(message) | {"body": dump(message.body)}


def message_of(row: Row) -> Message:
    """Return the message in a row. Raises ValueError or TypeError if the row cannot be one."""
    values = _fields(Message, row) | {"body": _object(row["body"])}
    _KINDS_OF_A_MESSAGE.check(values)
    return Message(**values)


def messages_of(rows: Iterable[Row]) -> list[Message]:
    """Return the messages in rows; skip those that cannot be read, and log each once."""
    found = []
    for row in rows:
        try:
            found.append(message_of(row))
        except (ValueError, TypeError):
            key = row["key"]
            tell_once(f"The message {key} in the database cannot be read, and is not delivered")
    return found


def packet_row(packet: EvidencePacket) -> dict[str, Any]:
    """Return the columns of an evidence packet."""
    return _columns(packet) | {"payload": dump(packet.payload)}


def packet_of(row: Row) -> EvidencePacket:
    """Return the evidence packet in a row, or what counts in its place if it cannot be read."""
    values = _fields(EvidencePacket, row)
    try:
        values["payload"] = _object(row["payload"])
        _KINDS_OF_A_PACKET.check(values)
    except (ValueError, TypeError):
        tell_once(f"The evidence {row['evidence_id']} in the database cannot be read")
        return unread_packet(str(row["evidence_id"]), _text_or_empty(row["source"]))
    return EvidencePacket(**values)


def permit_row(permit: PermitRecord) -> dict[str, Any]:
    """Return the columns of a permit."""
    return _columns(permit)


def permit_of(row: Row) -> PermitRecord:
    """Return the permit in a row."""
    return PermitRecord(**_fields(PermitRecord, row))


def tasks_of(rows: Iterable[Row]) -> list[Task]:
    """Return the tasks in rows; skip those that cannot be read, and log each once."""
    found = []
    for row in rows:
        try:
            _KINDS_OF_A_TASK.check(values := _fields(Task, row))
            found.append(Task(**values))
        except TypeError:
            tell_once(f"The task {row['task_id']} in the database cannot be read, and is not told")
    return found


def audit_row(entry: AuditEntry, details: str) -> dict[str, Any]:
    """Return the columns of an audit entry; `details` are its details in canonical form."""
    event = entry.event
    actor = event.actor
    return {
        "seq": entry.seq,
        "at": event.at,
        "proposal_id": event.proposal_id,
        "kind": event.kind,
        "source": event.source,
        "target": event.target,
        "actor_kind": actor.kind if actor else None,
        "actor": actor.id if actor else None,
        "surface": event.surface,
        "event_id": event.event_id,
        "digest": event.digest,
        "policy_digest": event.policy_digest,
        "reason": event.reason,
        "details": details,
        "prev_hash": entry.prev_hash,
        "entry_hash": entry.entry_hash,
    }


def is_attempt_row(row: Row) -> bool:
    """Return True if the entry in a row tells of a mere attempt."""
    return is_mere_attempt(row["kind"], row["target"], row["reason"])


def entry_of(row: Row) -> AuditEntry:
    """Return the audit entry in a row. Raises RowUnreadable if the row cannot be an entry."""
    try:
        return _entry_of(row)
    except (ValueError, TypeError, KeyError) as error:
        words = (
            f"Entry {row['seq']} of the audit trail cannot be read: {error}. `signoff audit "
            "verify` names what is wrong with it."
        )
        raise RowUnreadable(words) from error


def _entry_of(row: Row) -> AuditEntry:
    kind = row["actor_kind"]
    event = AuditEvent(
        at=row["at"],
        kind=row["kind"],
        actor=Identity(ActorKind(kind), row["actor"]) if kind is not None else None,
        proposal_id=row["proposal_id"],
        source=row["source"],
        target=row["target"],
        surface=row["surface"],
        event_id=row["event_id"],
        digest=row["digest"],
        policy_digest=row["policy_digest"],
        reason=row["reason"],
        details=_object(row["details"]),
    )
    return AuditEntry(row["seq"], event, row["prev_hash"], row["entry_hash"])


def exported_of(row: Row) -> dict[str, Any]:
    """Return a stored entry in its exported form, with every change that somebody made to it.

    Details that are no longer the canonical bytes that were written appear as plain text, and
    bytes in place of text appear as hex, so that the hash of the entry cannot match.
    """
    entry = {_EXPORTED_AS.get(name, name): _as_json(row[name]) for name in _AUDIT_COLUMNS}
    kind, actor = _as_json(row["actor_kind"]), _as_json(row["actor"])
    nobody = kind is None and actor is None
    return entry | {
        "actor": None if nobody else {"kind": kind, "id": actor},
        "details": _details(row["details"]),
    }


def _as_json(value: Any) -> Any:
    return {"hex": value.hex()} if isinstance(value, bytes) else value


def _details(text: Any) -> Any:
    try:
        value = load(text)
        untouched = canonical_bytes(value).decode() == text
    except (ValueError, TypeError, AttributeError):
        untouched = False
    return value if untouched else _as_json(text)
