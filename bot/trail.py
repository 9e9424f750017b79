"""Verifies the whole audit trail and the rows that it tells of, or writes it out; both in pages.

`signoff audit verify` and `audit export` use it (design section 10, ADR 0013).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

from bot.books import reading
from bot.config import Config
from bot.storage.sqlite import SqliteStore
from lifecycle.agreeing.evidence import EvidenceTold, about_its_evidence
from lifecycle.agreeing.flags import FlagsTold
from lifecycle.agreeing.permits import permit_disagreements
from lifecycle.agreeing.rows import begins, disagreements
from lifecycle.agreeing.spending import spending_disagreements
from lifecycle.agreeing.tasks import task_disagreements
from lifecycle.agreeing.uses import UsesTold
from lifecycle.audit import GENESIS, AuditEntry, broken_links, is_mere_attempt
from lifecycle.ports import ProposalStore, RowUnreadable, Transaction
from lifecycle.proposal import Proposal

_PAGE: Final = 500
#: The checks of what belongs to a proposal and is stored in other tables.
_BESIDE: Final = (spending_disagreements, permit_disagreements, task_disagreements)


@dataclass(slots=True)
class Verified:
    """The result of a check; `problems` is empty if every link holds and every row agrees."""

    entries: int = 0
    proposals: int = 0
    head: str = GENESIS
    problems: list[str] = field(default_factory=list)


async def verified(config: Config, anchor: str | None, done: Callable[[int], None]) -> Verified:
    """Check every link of the chain, that `anchor` is one of the hashes, that every row agrees with
    its entries, and that no page of the database is damaged.

    `done` is called with the number of entries and rows read so far, on a reader's thread as well.
    Each page of rows is read in a snapshot of its own: a row and its entries belong to one moment,
    and a running bot is not held up. Raises CannotOpen if there is no database.
    """
    async with reading(config, must_exist=True) as store:
        return await verified_in(store, anchor, done)


async def verified_in(
    store: ProposalStore, anchor: str | None, done: Callable[[int], None]
) -> Verified:
    """Do what `verified` does, on a store that is open."""
    found = await store.read(lambda tx: _checked(tx, anchor, done))
    if isinstance(store, SqliteStore):
        found.problems += await store.damage() + await store.made_by_others()
    after = ""
    while page := await store.read(partial(_rows_behind, after)):
        after = page[-1][0]
        found.proposals += len(page)
        found.problems += [words for _, problems in page for words in problems]
        done(found.entries + found.proposals)
    return found


async def exported(config: Config, write: Callable[[str], None]) -> None:
    """Pass every entry to `write` as one line of JSON, up to the head of when it began.

    Each page is read in a snapshot of its own, since `write` may wait for whoever reads the lines:
    as long as one snapshot is held, the bot's `-wal` can only grow. Entries are never changed, so
    the pages are one chain. Raises CannotOpen.
    """
    async with reading(config, must_exist=True) as store:
        last, _ = await store.read(lambda tx: tx.audit.head())
        after = 0
        while page := await store.read(partial(_page, after, last)):
            for entry in page:
                write(json.dumps(entry, separators=(",", ":")))
            after = int(page[-1]["seq"])


def _checked(tx: Transaction, anchor: str | None, done: Callable[[int], None]) -> Verified:
    found = Verified()
    gone: list[str] = []
    told = (FlagsTold(), EvidenceTold(), UsesTold())

    def counted() -> Iterator[Mapping[str, Any]]:
        for entry in _entries(tx):
            found.entries += 1
            found.head = str(entry.get("entry_hash"))
            if found.entries % _PAGE == 0:
                done(found.entries)
            if begins(entry.get("kind")) and not _has_row(tx, entry):
                gone.append(f"proposal {entry.get('proposal_id')}: its row is gone")
            for each in told:
                each.take(entry)
            yield entry

    broken = broken_links(counted(), anchor)
    found.problems = [*broken, *gone, *(words for each in told for words in each.disagreements(tx))]
    return found


def _has_row(tx: Transaction, entry: Mapping[str, Any]) -> bool:
    proposal_id = str(entry.get("proposal_id"))
    return list(tx.proposals.beginning_with(proposal_id, 1)) == [proposal_id]


def _rows_behind(after_id: str, tx: Transaction) -> list[tuple[str, list[str]]]:
    """Return the ids of a page after `after_id`, each with sentences on what is wrong there."""
    ids = tx.proposals.ids_after(after_id, _PAGE)
    return [(proposal_id, _wrong_about(tx, proposal_id)) for proposal_id in ids]


def _wrong_about(tx: Transaction, proposal_id: str) -> list[str]:
    try:
        proposal = tx.proposals.get(proposal_id)
        if proposal is None:  # within one snapshot: by an id that is no text nothing is found
            return [f"proposal {proposal_id}: its id cannot be read"]
        trail = _to_compare(tx, proposal)
        found = disagreements(proposal, trail, tx.reviews.of(proposal_id))
        for beside in _BESIDE:
            found += beside(tx, proposal, trail)
        unbound = about_its_evidence(tx, proposal)
        found += [f"proposal {proposal_id}: {words}" for words in unbound]
        return found
    except (RowUnreadable, ValueError, TypeError, KeyError) as error:
        return [f"proposal {proposal_id}: its row, reviews or entries cannot be read ({error})"]


def _to_compare(tx: Transaction, proposal: Proposal) -> list[AuditEntry]:
    """Return the trail of a proposal without mere attempts, except the first one whose digest is
    not that of the row; read in pages, for there may be hundreds of thousands of attempts."""
    kept: list[AuditEntry] = []
    after, unlike = 0, False
    while page := tx.audit.page_of(proposal.proposal_id, after, _PAGE):
        for entry in page:
            event = entry.event
            if is_mere_attempt(event.kind, event.target, event.reason):
                if unlike or event.digest == proposal.digest:
                    continue
                unlike = True
            kept.append(entry)
        after = page[-1].seq
    return kept


def _entries(tx: Transaction) -> Iterator[Mapping[str, Any]]:
    """Yield every entry as stored; a page at a time, so that a long trail needs no more memory."""
    after = 0
    while page := tx.audit.exported(after, _PAGE):
        yield from page
        after = int(page[-1]["seq"])


def _page(after: int, last: int, tx: Transaction) -> Sequence[Mapping[str, Any]]:
    """Return a page of the entries after `after`, empty once they reach as far as `last`."""
    return tx.audit.exported(after, max(0, min(_PAGE, last - after)))
