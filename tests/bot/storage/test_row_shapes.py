"""What rows hold is known to a version by the newest migration; older ones refuse the database."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields
from typing import Any, Final

from bot.storage.migrations import newest
from lifecycle.canonical import digest_of
from lifecycle.proposal import Cause, Execution, Identity, KeptStop, Proposal
from lifecycle.records import Card, EvidencePacket, Message, PermitRecord, Task
from lifecycle.review import Review
from lifecycle.verdict import Finding, RuleResult, Verdict

STORED: Final = (
    *(Proposal, Execution, KeptStop, Cause, Identity, Verdict, RuleResult, Finding),
    *(Card, EvidencePacket, Message, PermitRecord, Review, Task),
)
#: The digest of what rows hold, by the migration that made older versions refuse them.
HELD: Final = {7: "sha256:7680bb33d4168398cb535b668468b81ceb21918e10adac7b59ec88f46d42967b"}


def held(kinds: Iterable[Any]) -> str:
    """Return the digest of the names of all fields."""
    names = (
        f"{kind.__name__}: {', '.join(sorted(f.name for f in fields(kind)))}" for kind in kinds
    )
    return digest_of("\n".join(names).encode())


def test_a_field_that_rows_gain_or_lose_comes_with_a_migration_that_older_versions_refuse() -> None:
    """An older version opened the database of a newer one, and could not read what had changed.

    Where this fails add a migration, even one that only says so, and write its number and the new
    digest above.
    """
    assert HELD[newest()] == held(STORED)
