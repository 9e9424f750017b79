"""A ✅ that was taken off on Slack before anything began opens nothing with another."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from lifecycle.ports import StoreUnavailable
from tests.bot.chat.slack.counted import DEPLOY, DUAL, all_done, counting, mention, state
from tests.builders import PROD
from tests.slack_stage import eventually, eventually_async, on_slack


async def test_an_approval_that_was_taken_off_while_another_waited_opens_nothing() -> None:
    async with on_slack() as slack:
        card = await slack.proposes(PROD, **DUAL)
        await slack.server.reacts("UBEN", card.ts)
        await slack.settles()
        assert await counting(slack) == ["ben"]

        slack.server.hold("reactions.get")  # ana's ✅ is looked at before it counts
        await slack.server.reacts("UANA", card.ts)
        await eventually(lambda: slack.server.waiting("reactions.get"), "ana's is looked at")
        await slack.server.unreacts("UBEN", card.ts)
        slack.server.release("reactions.get")

        async def only_ana() -> bool:
            return await counting(slack) == ["ana"]

        await eventually_async(only_ana, "ben's was taken back")
        await all_done(slack)
        assert await state(slack) == "sentinel_approved"
        assert slack.world.tool(DEPLOY).verbs() == []


async def test_a_window_closes_in_time_although_nobody_can_say_who_took_an_approval_off() -> None:
    async with on_slack() as slack:
        card = await slack.proposes()
        await slack.server.reacts("UANA", card.ts)
        await slack.stands("p1", "executing")
        listening = slack.surface.listening
        assert listening is not None
        slack.server.fails("users.info", "error", times=None)
        await slack.server.unreacts("UANA", card.ts)
        await eventually(lambda: not listening.inbox.quiet, "the event is kept")
        slack.world.clock.advance(901)

        async def closed() -> bool:
            slack.world.clock.advance(1)  # a card that could not be read is read again soon
            await slack.world.workflow.close_due()
            return await state(slack) == "completed"

        await eventually_async(closed, "its time is over")


async def test_nothing_begins_over_a_withdrawal_while_nobody_can_say_whose_it_is() -> None:
    async with on_slack() as slack:
        await slack.proposes(PROD)
        await slack.settles()
        asks = slack.server.fails("users.info", "error", times=None, holding="ULEILA")
        await slack.server.says("ULEILA", mention(slack, "withdraw p1"))
        await eventually(lambda: asks.seen, "it is asked who that is")
        assert (await slack.world.workflow.approve("p1", slack.world.sender("ana"))).done
        await slack.world.workflow.open_ready()
        assert slack.world.tool(DEPLOY).verbs() == []
        asks.times = 0
        await slack.stands("p1", "rejected")
        assert slack.world.tool(DEPLOY).verbs() == []


@pytest.mark.parametrize("kept", [True, False])
async def test_one_that_was_taken_off_while_nothing_could_be_written_opens_nothing_with_another(
    monkeypatch: pytest.MonkeyPatch, kept: bool
) -> None:
    """`kept`: its event was stored before that. Else Slack delivers it again, which takes time."""
    async with on_slack() as slack:
        card = await slack.proposes(PROD, **DUAL)
        await slack.server.reacts("UBEN", card.ts)
        await slack.settles()
        store, refused = slack.world.workflow.world.store, list[object]()
        takes = store.write

        async def full(unit: Callable[[Any], Any]) -> Any:
            if kept and getattr(unit, "__qualname__", "").startswith("Inbox._stored"):
                return await takes(unit)
            refused.append(unit)
            raise StoreUnavailable("the disk is full")

        with monkeypatch.context() as patch:
            patch.setattr(store, "write", full)
            gone = await slack.server.unreacts("UBEN", card.ts)
            await eventually(lambda: refused, "refused")
            await slack.beats(10)
            assert gone.acked.is_set() is kept
        await slack.server.reacts("UANA", card.ts)

        async def only_ana() -> bool:
            return await counting(slack) == ["ana"]

        await eventually_async(only_ana, "ben's was taken back")
        if not kept:
            await slack.server.sockets.again(gone)
        await all_done(slack)
        assert (await state(slack), await counting(slack)) == ("sentinel_approved", ["ana"])
        assert slack.world.tool(DEPLOY).verbs() == []
