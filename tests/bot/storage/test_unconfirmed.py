"""What the disk did not confirm was refused, and stays so for a start after a crash."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from bot.storage.sqlite import SqliteStore
from lifecycle.ports import StoreUnavailable, Transaction
from tests.bot.storage.copied import filled, held
from tests.bot.storage.unconfirmed import can_be_unconfirmed, confirm_nothing
from tests.builders import a_document, a_proposal

pytestmark = pytest.mark.skipif(not can_be_unconfirmed(), reason="this system sets no filter")


def adding(name: str) -> Callable[[Transaction], None]:
    return lambda tx: tx.proposals.add(a_proposal(a_document(proposal_id=name)))


async def refused(store: SqliteStore, name: str) -> None:
    with pytest.raises(StoreUnavailable, match="disk I/O error"):
        await store.write(adding(name))


async def found_after_a_crash(path: Path) -> list[str]:
    """Return what a start finds in what a crash would leave just now: the database and its log."""
    left = Path(tempfile.mkdtemp(dir=path.parent))
    for side in ("", "-wal"):
        shutil.copy(path.with_name(path.name + side), left)
    again = await SqliteStore.open(left / path.name)
    await again.close()
    return await held(left / path.name)


async def test_what_the_disk_did_not_confirm_is_not_found_as_done_after_a_crash(path: Path) -> None:
    store = await filled(path, "before")
    await store.write(confirm_nothing)

    await refused(store, "after")

    assert await found_after_a_crash(path) == ["before"]
    await refused(store, "later")
    assert await found_after_a_crash(path) == ["before"]
    await store.close()
