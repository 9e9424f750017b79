"""A bot whose store stopped for good ends, so that whatever is over it begins it anew."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from bot import running
from bot.bootstrap import App, opened
from bot.config import load_config
from bot.config.surfaces import Choice
from bot.database_kept import keep_database
from bot.storage.lock import path_of_lock
from bot.storage.note import note_beside
from bot.storage.transaction import SqliteTransaction
from bot.troubles import EXPECTED
from lifecycle.ports import StoreUnavailable, Transaction
from tests.fakes.notifier import PlainNotifier

SOON_S = 10


async def stops_for_good(app: App) -> None:
    """Let what undoes a unit fail as well: the thread that writes has ended then."""

    def breaks(tx: Transaction) -> None:
        assert isinstance(tx, SqliteTransaction)
        tx.audit.connection.close()

    with pytest.raises(StoreUnavailable):
        await app.store.write(breaks)


async def test_a_bot_that_can_write_nothing_down_any_more_ends_and_says_why(
    write_config: Callable[..., Path],
) -> None:
    async with opened(load_config(write_config()), {}, PlainNotifier()) as app:
        looking = asyncio.create_task(keep_database(app))
        await stops_for_good(app)

        with pytest.raises(EXPECTED, match=r"The store stopped \(ProgrammingError\)\.") as ended:
            await asyncio.wait_for(looking, SOON_S)

        assert "The bot ends. What was under way is taken up by its next start." in str(ended.value)
        with pytest.raises(StoreUnavailable, match="The store stopped"):
            await app.store.write(lambda tx: None)


async def test_the_whole_bot_ends_soon_once_its_store_has_stopped(
    write_config: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def kept(app: App) -> None:
        await stops_for_good(app)
        await keep_database(app)

    monkeypatch.setattr(running, "keep_database", kept)  # a moment at which it surely runs
    stays = load_config(write_config(("http: {enabled: false", "http: {enabled: true")))
    nothing = Choice(discord=False, slack=False, terminal=False, http=False)

    with pytest.raises(StoreUnavailable, match="The bot ends"):
        await asyncio.wait_for(running.run_until_stopped(stays, nothing, {}), SOON_S)


async def test_a_write_that_fails_is_no_reason_to_end(write_config: Callable[..., Path]) -> None:
    async with opened(load_config(write_config()), {}, PlainNotifier()) as app:

        def fails(tx: Transaction) -> None:
            assert isinstance(tx, SqliteTransaction)
            tx.audit.connection.execute("INSERT INTO there_is_no_such_table VALUES (1)")

        with pytest.raises(StoreUnavailable):
            await app.store.write(fails)
        app.keep_database()
        await app.store.write(lambda tx: None)


async def test_a_store_in_memory_has_nothing_to_look_after(
    write_config: Callable[..., Path],
) -> None:
    config = load_config(write_config(("sqlite:///data/signoff.db", '"memory:"')))
    async with opened(config, {}, PlainNotifier()) as app:
        app.keep_database()


async def test_a_lock_file_that_was_removed_is_made_again_with_all_that_the_bot_said_in_it(
    write_config: Callable[..., Path],
) -> None:
    async with opened(load_config(write_config()), {}, PlainNotifier()) as app:
        database = app.config.database_file
        assert database is not None
        said = note_beside(database)
        path_of_lock(database).unlink()
        app.keep_database()

        assert said
        assert note_beside(database) == said
