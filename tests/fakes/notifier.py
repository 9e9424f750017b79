"""A notifier for tests of the law: one surface whose cards arrive at once, or do not."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from lifecycle.audit import AuditEvent
from lifecycle.event_kinds import EventKind
from lifecycle.moment import rfc3339
from lifecycle.ports import ProposalStore, Transaction
from lifecycle.proposal import SENTINEL
from lifecycle.records import Card
from lifecycle.review import Absent


@dataclass
class PlainNotifier:
    """Delivers cards when asked to; `readable`, `lost`, `unread` (people whose membership cannot be
    read) and `banned` (accounts, as person and surface) are what a test says they are."""

    names: tuple[str, ...] = ("terminal",)
    readable: bool = True
    lost: frozenset[str] = frozenset()
    unread: frozenset[str] = frozenset()
    banned: frozenset[tuple[str, str]] = frozenset()
    nudged: int = 0
    read: list[str] = field(default_factory=list)
    alerts: list[str] = field(default_factory=list)

    def nudge(self) -> None:
        self.nudged += 1

    def surfaces(self) -> tuple[str, ...]:
        return self.names

    def alert(self, words: str) -> None:
        self.alerts.append(words)

    async def read_cards(self, proposal_id: str) -> bool:
        self.read.append(proposal_id)
        return self.readable

    async def lost_members(
        self, people: Iterable[str], *, only_certain: bool = False
    ) -> frozenset[Absent]:
        asked = frozenset(people)
        lost = self.lost if only_certain else self.lost | self.unread
        return (lost & asked) | {each for each in self.banned if each[0] in asked}

    async def catch_up(self) -> int:
        return 0

    async def hear_others(self, proposal_id: str, but: str) -> bool:
        return True

    async def deliver(self, store: ProposalStore, now_ms: int, *, full: bool = True) -> int:
        """Show every stale card; return how many."""

        def unit(tx: Transaction) -> int:
            count = 0
            for name in self.names:
                for card in tx.cards.stale(name, now_ms, 1000):
                    message = card.message_ids or (f"m-{card.proposal_id}",)
                    if not card.message_ids:
                        _note(tx, now_ms, card, message[0])
                    tx.cards.put(
                        replace(
                            card,
                            shown_version=card.wanted_version,
                            message_ids=message,
                            delivered=True,
                            full=full,
                        )
                    )
                    count += 1
            return count

        return await store.write(unit)


def _note(tx: Transaction, now_ms: int, card: Card, message_id: str) -> None:
    """Tell the trail where the card stands, as whoever posts a real one does."""
    proposal = tx.proposals.get(card.proposal_id)
    details = {"surface": card.surface, "message": message_id}
    tx.audit.append(
        AuditEvent(
            at=rfc3339(now_ms),
            kind=EventKind.CARD_POSTED,
            actor=SENTINEL,
            proposal_id=card.proposal_id,
            digest=proposal.digest if proposal else None,
            policy_digest=proposal.policy_digest if proposal else None,
            details=details,
        )
    )
