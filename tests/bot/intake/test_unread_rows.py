"""A row that cannot be read withholds no list and no answer about another proposal."""

from __future__ import annotations

import asyncio
from pathlib import Path

from bot.intake.doors import served_doors
from bot.intake.http.marks import mark_of, proposal_key
from bot.intake.http.waiting import Mark, Waiting
from bot.storage.memory import MemoryStore
from lifecycle.ports import Transaction
from tests.bot.intake.conftest import TOKENS, Outside, agents
from tests.builders import MAIL, a_policy
from tests.by_hand import by_hand
from tests.stage import staged
from tests.stories.forging import DATABASE
from tests.world import World


async def two_mails(world: World) -> None:
    """Propose p1 and p2, which are not alike."""
    for number in (1, 2):
        target = MAIL["target"] | {"resource_id": f"of-{number}"}
        await world.submits(MAIL, proposal_id=f"p{number}", target=target)


async def test_an_agent_sees_its_proposals_although_reviews_of_one_cannot_be_read(
    tmp_path: Path,
) -> None:
    """It was answered 503, to try again for ever."""
    async with staged(DATABASE, tmp_path, a_policy(agents=agents())) as world:
        await two_mails(world)
        for proposal_id in ("p1", "p2"):
            await world.approves("ana", proposal_id)
        by_hand(tmp_path / "signoff.db", "UPDATE reviews SET at_ms = -1 WHERE number = 1")
        async with (
            served_doors(world.workflow, dict(TOKENS), "127.0.0.1", 0) as url,
            Outside(url, world).client() as leila,
        ):
            listed = (await leila.get("/v1/proposals")).json()["proposals"]
            one = (await leila.get("/v1/proposals/p1")).json()

    of = {each["proposal_id"]: each for each in listed}
    assert (of["p1"]["reviews"], one["reviews"], one["state"]) == ([], [], "executing")
    assert "cannot be read" in of["p1"]["unreadable"]
    assert [each["person"] for each in of["p2"]["reviews"]] == ["ana"]


async def test_who_waits_for_another_proposal_is_answered_at_once_and_so_is_who_waits_for_it(
    tmp_path: Path,
) -> None:
    """Whoever waited for anything waited as long as somebody waited for the row at fault."""
    async with staged(DATABASE, tmp_path, a_policy(agents=agents())) as world:
        await two_mails(world)
        by_hand(
            tmp_path / "signoff.db", "UPDATE proposals SET version = -1 WHERE proposal_id = 'p1'"
        )
        waiting = Waiting(world.store, mark_of(world.clock.now_ms))
        watch = asyncio.create_task(waiting.watch())
        await world.approves("ana", "p2")
        try:
            async with asyncio.timeout(10):
                await asyncio.gather(
                    waiting.changed(proposal_key("p1"), "sentinel_approved", 60),
                    waiting.changed(proposal_key("p2"), "sentinel_approved", 60),
                )
        finally:
            watch.cancel()


async def test_an_error_that_nobody_knows_does_not_end_the_watch() -> None:
    """Nobody would have been answered before the end of their time any more, until a restart."""
    raised = asyncio.Event()

    def fails_once(_tx: Transaction, _key: str) -> Mark:
        if not raised.is_set():
            raised.set()
            raise KeyError("on purpose")
        return "completed"

    waiting = Waiting(MemoryStore(), fails_once)
    watch = asyncio.create_task(waiting.watch())
    try:
        async with asyncio.timeout(10):
            await waiting.changed("p1", "executing", 60)
    finally:
        watch.cancel()

    assert raised.is_set()
