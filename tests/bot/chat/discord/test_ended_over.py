"""A process that ends while somebody else has the database keeps what was typed to stop something:
Discord says it once, and no card shows it."""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from bot.storage.sqlite import SqliteStore
from tests.bot.chat.discord.cards import seeded
from tests.builders import PROD
from tests.fakes.discord_server import DiscordServer
from tests.fakes.discord_stage import ANA, BEN, CROSS, DiscordStage, a_stage, until
from tests.roomy import a_roomy_policy


@contextlib.contextmanager
def locked(database: Path) -> Iterator[None]:
    """Have the database, as a program of somebody's does who looks at it."""
    with contextlib.closing(sqlite3.connect(database, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        yield
        other.execute("ROLLBACK")


async def ends(stage: DiscordStage, store: SqliteStore) -> None:
    """End the bot in the order in which SIGTERM does it."""
    stage.serving.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await stage.serving
    stage.workflow.world.ending = True
    store.hurry()
    await stage.workflow.shut_down()


@pytest.mark.parametrize("how", ["reject", "freeze", "a ❌"])
async def test_a_stop_that_waits_for_the_database_outlives_the_process(
    server: DiscordServer, tmp_path: Path, how: str
) -> None:
    """Its wait ended with the connection to Discord: nobody knew of it after the start."""
    store = await SqliteStore.open(tmp_path / "signoff.db")
    stage = a_stage(store, server, a_roomy_policy())
    await stage.begins()
    proposal_id, card = await seeded(stage, PROD)
    await stage.quiet()
    store.hurry()
    with locked(tmp_path / "signoff.db"):
        match how:
            case "reject":
                stage.server.says(BEN, f"!reject {proposal_id} wrong version")
            case "freeze":
                stage.server.says(ANA, "!freeze breach")
            case _:
                stage.server.reacts(BEN, card, CROSS)
        await until(lambda: stage.workflow.world.heard.of(proposal_id), "heard")
        await ends(stage, store)
        (stop,) = stage.workflow.world.spool.kept()
    told = {"reject": ("ben", "wrong version"), "freeze": ("ana", "breach"), "a ❌": ("ben", "")}
    assert (stop["id"], stop["reason"]) == told[how]
    await store.close()
