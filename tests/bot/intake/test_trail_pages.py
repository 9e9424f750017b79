"""A page of a trail costs what it holds, however long the trail is."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from bot.intake.doors import served_doors
from bot.storage.opening import open_store
from tests.bot.intake.conftest import TOKENS, Outside, agents, submitted
from tests.builders import PROD, a_policy
from tests.by_hand import by_hand
from tests.world import a_world


@pytest.fixture
async def outside(tmp_path: Path) -> AsyncIterator[Outside]:
    """The stage over SQLite."""
    store = await open_store("sqlite:///signoff.db", tmp_path)
    stage = a_world(store, a_policy(agents=agents()))
    await stage.workflow.start()
    async with served_doors(stage.workflow, dict(TOKENS), "127.0.0.1", 0) as url:
        yield Outside(url, stage)
    await stage.workflow.shut_down(1)
    await store.close()


async def test_a_page_of_a_trail_is_read_without_what_lies_before_and_behind_it(
    outside: Outside, tmp_path: Path
) -> None:
    async with outside.client() as leila:
        await submitted(leila, PROD)
        for _ in range(3):
            await leila.post("/v1/proposals/p1/receipt", json={"outcome": "done"})
        path = "/v1/proposals/p1/audit"
        first = (await leila.get(f"{path}?limit=1")).json()
        third = (await leila.get(f"{path}?limit=2&cursor={first['next_cursor']}")).json()
        seqs = [each["seq"] for each in (await leila.get(path)).json()["entries"]]
        # Whoever reads more of the trail than the page stumbles over these.
        for seq in (seqs[0], seqs[-1]):
            by_hand(tmp_path / "signoff.db", f"UPDATE audit SET details = '{{' WHERE seq = {seq}")

        page = await leila.get(f"{path}?limit=2&cursor={first['next_cursor']}")
        whole = await leila.get(path)

    assert (page.status_code, page.json()) == (200, third)
    assert [each["seq"] for each in third["entries"]] == seqs[1:3]
    assert (whole.status_code, whole.json()["reason"]) == (503, "audit_unavailable")
