"""Evidence is what configured sources observed; agents never write it (seed 000)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from lifecycle.answers import Reply, Sender
from lifecycle.canonical import canonical_bytes, digest_of
from lifecycle.door import record
from lifecycle.errors import Fault, Refused
from lifecycle.event_kinds import EventKind
from lifecycle.first_gate.reading import read_object
from lifecycle.first_gate.structure import IDENTIFIER
from lifecycle.moment import LAST_MS, Moment
from lifecycle.ports import Transaction
from lifecycle.proposal import ActorKind
from lifecycle.records import EvidencePacket
from lifecycle.text.secrets_found import find_secrets

_TO_JUDGE: Final = "evidence_to_judge"
_KEYS: Final = ("evidence_id", "source", "observed_at_ms", "payload")


def read_packet(raw: bytes, sender: Sender, moment: Moment) -> EvidencePacket:
    """Read `{evidence_id, source, observed_at_ms, payload}` strictly; raises Refused."""
    by_source = sender.kind is ActorKind.SOURCE and sender.is_known_to(moment.policy)
    if not by_source or sender.id not in moment.policy.sources:
        raise Refused(
            [
                Fault(
                    "not_a_source",
                    suggestion="Evidence comes from the sources of the config, never from agents "
                    "or people.",
                )
            ]
        )
    obj = read_object(raw)
    faults = [*_unknown(obj), *_wrong(obj, sender, moment)]
    if faults:
        raise Refused(faults)
    return EvidencePacket(
        evidence_id=obj["evidence_id"],
        source=str(sender.id),
        observed_at_ms=obj["observed_at_ms"],
        recorded_at_ms=moment.now_ms,
        payload=obj["payload"],
    )


def record_packet(tx: Transaction, moment: Moment, packet: EvidencePacket, sender: Sender) -> Reply:
    """Write the packet and its audit event; an older observation never replaces a newer one.

    An id belongs to the source that used it first, as long as that source is configured: another
    source cannot take away what a trusted sensor said. Raises Refused.
    """
    known = tx.evidence.get(packet.evidence_id)
    if known is not None:
        _check_replaces(moment, packet, known)
    tx.evidence.put(packet)
    if packet.evidence_id not in (waits := unjudged(tx)):
        tx.flags.put(_TO_JUDGE, [*waits, packet.evidence_id])
    record(
        tx,
        moment,
        EventKind.EVIDENCE_RECORDED,
        sender.identity,
        sender=sender,
        details={
            "evidence_id": packet.evidence_id,
            "observed_at_ms": packet.observed_at_ms,
            "payload": payload_digest(packet),
        },
    )
    return Reply(f"Evidence {packet.evidence_id} is recorded.")


def _check_replaces(moment: Moment, packet: EvidencePacket, known: EvidencePacket) -> None:
    """Raise Refused unless the packet may take the place of the one on record."""
    if known.source in moment.policy.sources.keys() - {packet.source}:
        words = "Another source records evidence under this id; use one of your own."
        raise Refused([Fault("id_conflict", "evidence_id", suggestion=words)])
    if packet.observed_at_ms < known.observed_at_ms <= _latest_ms(moment):
        newer = Fault(
            "implausible_time",
            "observed_at_ms",
            required=f"at or after {known.observed_at_ms}",
            suggestion="A newer observation is on record under this evidence_id.",
        )
        raise Refused([newer])


def _latest_ms(moment: Moment) -> int:
    """Return the latest time (ms UTC) that a source whose clock is ahead of ours may name just now.

    A later one on record was written by a clock that was set back since. It does not count as
    newer: else that evidence could not be observed again until that time comes.
    """
    return moment.now_ms + moment.policy.limits.clock_skew_s * 1000


def unread_packet(evidence_id: str, source: str) -> EvidencePacket:
    """Return what counts in place of a packet that somebody wrote over.

    It says nothing, and is stale whenever it is judged. It belongs to its source all the same,
    whose next packet takes its place.
    """
    return EvidencePacket(evidence_id, source, LAST_MS, LAST_MS, {})


def is_unread(packet: EvidencePacket) -> bool:
    """Return whether this counts in place of a packet that cannot be read."""
    return packet.recorded_at_ms == LAST_MS


def payload_digest(packet: EvidencePacket) -> str:
    """Return the digest by which the trail knows the payload of a packet."""
    return digest_of(canonical_bytes(packet.payload))


def unjudged(tx: Transaction) -> list[str]:
    """Return the ids of recorded packets by which what is open has not been judged again yet."""
    waits = tx.flags.get(_TO_JUDGE)
    return [each for each in waits if isinstance(each, str)] if isinstance(waits, list) else []


def judged(evidence_id: str, packet: EvidencePacket | None, tx: Transaction) -> None:
    """Note that what is open was judged by this packet; one recorded meanwhile still waits."""
    waits = unjudged(tx)
    if evidence_id in waits and tx.evidence.get(evidence_id) == packet:
        tx.flags.put(_TO_JUDGE, [each for each in waits if each != evidence_id])


def _unknown(obj: Mapping[str, Any]) -> list[Fault]:
    return [
        Fault("unknown_field", key[:64], suggestion=f"Known fields: {', '.join(_KEYS)}.")
        for key in obj
        if key not in _KEYS
    ]


def _wrong(obj: Mapping[str, Any], sender: Sender, moment: Moment) -> list[Fault]:
    misnamed = _misnamed(obj.get("evidence_id"))
    faults = [misnamed] if misnamed is not None else []
    if obj.get("source") != sender.id:
        faults.append(
            Fault(
                "actor_mismatch",
                "source",
                required=sender.id,
                suggestion=f"You speak as {sender.id}; source must say so.",
            )
        )
    observed = obj.get("observed_at_ms")
    if not isinstance(observed, int) or isinstance(observed, bool):
        faults.append(_another("observed_at_ms", "a whole number of milliseconds since 1970"))
    elif observed > _latest_ms(moment) or observed <= 0:
        faults.append(
            Fault(
                "implausible_time",
                "observed_at_ms",
                required="after 1970, and not in the future",
                suggestion="Write when it was observed, in milliseconds since 1970.",
            )
        )
    if not isinstance(obj.get("payload"), dict):
        faults.append(_another("payload", "an object"))
    return faults


def _misnamed(evidence_id: Any) -> Fault | None:
    """Return what is wrong with the id, None if it is one. An id in the shape of a credential is
    none: the trail keeps it for ever, and no proposal may name it."""
    if not isinstance(evidence_id, str) or IDENTIFIER.fullmatch(evidence_id) is None:
        return Fault(
            "invalid_identifier",
            "evidence_id",
            required="1 to 64 of A-Z a-z 0-9 . _ -, not dots alone",
            suggestion="Give the packet an evidence_id of letters, digits, dot, underscore and "
            "hyphen, at most 64 of them, not dots alone.",
        )
    if find_secrets(evidence_id):
        return Fault(
            "invalid_identifier",
            "evidence_id",
            required="an id that may be shown to anybody",
            actual="what looks like a credential",
            suggestion="Use an id without a meaning of its own, and withdraw the credential.",
        )
    return None


def _another(key: str, required: str) -> Fault:
    return Fault("wrong_type", key, required=required, suggestion=f"Send {required} as {key}.")
