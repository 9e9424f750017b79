"""Compare the stored evidence with what the trail tells that sources observed (ADR 0013).

`audit verify` compares every packet (`EvidenceTold`). What is about to begin or to go on is checked
for evidence that its document names and that is not bound to it (`about_its_evidence`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from lifecycle.event_kinds import EventKind
from lifecycle.evidence import is_unread, payload_digest
from lifecycle.fitting import fits_its_digest
from lifecycle.moment import ms_of
from lifecycle.ports import Transaction
from lifecycle.proposal import Proposal
from lifecycle.records import EvidencePacket
from lifecycle.verdicts.gathering import evidence_ids

_Entry = Mapping[str, Any]
_PAGE: Final = 500
#: Older versions stored the time at which they began to read a packet, and wrote the entry with the
#: time at which it was read; so an entry may be this much later than its row.
_READ_WITHIN_MS: Final = 10_000


@dataclass(slots=True)
class EvidenceTold:
    """The last entry about each packet, by its id; entries are handed in oldest first."""

    recorded: dict[str, _Entry] = field(default_factory=dict)

    def take(self, entry: _Entry) -> None:
        """Note an exported entry if it records evidence; ignore every other kind."""
        details = entry.get("details")
        if entry.get("kind") == EventKind.EVIDENCE_RECORDED and isinstance(details, Mapping):
            self.recorded[str(details.get("evidence_id"))] = entry

    def disagreements(self, tx: Transaction) -> list[str]:
        """Return a sentence for each packet that differs, is gone or is untold; else empty."""
        found = []
        for evidence_id, entry in self.recorded.items():
            found += [
                f"evidence {evidence_id}: {words}" for words in _about(tx, evidence_id, entry)
            ]
        untold = (each for each in _ids(tx) if each not in self.recorded)
        return found + [f"evidence {each}: no entry tells of it" for each in untold]


def about_its_evidence(tx: Transaction, proposal: Proposal) -> Iterator[str]:
    """Yield a sentence for each packet that the document names and that is not bound to the
    proposal.

    Only a proposal that is bound to a packet is judged again when a source records another one. A
    proposal that has ended is not checked, since nothing is judged any more.
    """
    if proposal.terminal or not fits_its_digest(proposal):
        return
    for evidence_id in sorted(evidence_ids(proposal)):
        if not tx.proposals.is_bound(proposal.proposal_id, evidence_id):
            yield f"its document names evidence {evidence_id}, and that is not noted for it"


def _about(tx: Transaction, evidence_id: str, entry: _Entry) -> list[str]:
    try:
        return [*_differences(tx.evidence.get(evidence_id), entry)]
    except (TypeError, ValueError, KeyError, AttributeError) as error:
        return [f"what is kept of it cannot be read ({type(error).__name__})"]


def _differences(kept: EvidencePacket | None, entry: _Entry) -> Iterator[str]:
    seq, told = entry.get("seq"), entry["details"]
    if kept is None:
        yield f"it is gone, entry {seq} tells of it"
        return
    if is_unread(kept):
        yield f"what is kept of it cannot be read, entry {seq} tells of it"
        return
    if kept.source != entry["actor"]["id"]:
        yield f"it was recorded by {kept.source}, entry {seq} says {entry['actor']['id']}"
    later_ms = ms_of(entry["at"]) - kept.recorded_at_ms
    if kept.observed_at_ms != told["observed_at_ms"] or not 0 <= later_ms <= _READ_WITHIN_MS:
        yield f"it was not observed or recorded when entry {seq} says"
    # Entries of older versions have no digest of the payload.
    if "payload" in told and told["payload"] != payload_digest(kept):
        yield f"what was observed is not what entry {seq} tells"


def _ids(tx: Transaction) -> Iterator[str]:
    after = ""
    while page := tx.evidence.ids_after(after, _PAGE):
        yield from page
        after = page[-1]
