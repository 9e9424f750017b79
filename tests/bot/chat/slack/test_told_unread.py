"""Whose decision had no effect is told so, and where the card is if it was given on an old one."""

from __future__ import annotations

from typing import Any

import pytest

from lifecycle.ports import StoreUnavailable
from tests.builders import PROD
from tests.roads import trail_of
from tests.slack_stage import eventually, on_slack


async def test_that_an_old_card_decides_nothing_is_told_while_the_store_cannot_be_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with on_slack() as slack:
        first = await slack.proposes(PROD)
        await slack.server.deletes(first.ts)
        await eventually(lambda: slack.seeded("p1"), "posting again")
        store = slack.world.store
        read, write = store.read, store.write
        refused: list[str] = []

        async def unreadable_once_refused(view: Any) -> Any:
            if refused:
                raise StoreUnavailable("The database cannot be read: disk I/O error.")
            return await read(view)

        async def written(unit: Any) -> Any:
            value = await write(unit)
            rows = await read(lambda tx: trail_of(tx, "p1"))
            refused.extend(str(r.event.reason) for r in rows if r.event.kind == "ignored")
            return value

        monkeypatch.setattr(store, "read", unreadable_once_refused)
        monkeypatch.setattr(store, "write", written)
        await slack.server.reacts("UANA", first.ts)
        (hint,) = await eventually(slack.hints, "the note")
        monkeypatch.undo()
        assert "an old one" in hint
        assert "It stands here" not in hint
        assert await slack.codes("p1") == ["stale_card"]


async def test_whoever_decided_on_the_card_that_counts_is_not_sent_to_it() -> None:
    async with on_slack() as slack:
        card = await slack.proposes(PROD)
        await slack.server.reacts("UBEN", card.ts)
        await slack.stands("p1", "completed")
        await slack.server.reacts("UANA", card.ts, "x")
        (hint,) = await eventually(slack.hints, "the note")
        assert "It stands here" not in hint
        assert slack.server.calls_of("chat.getPermalink") == []
        assert await slack.codes("p1") == ["window_closed"]
