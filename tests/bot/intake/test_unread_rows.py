"""A row beside its proposals that cannot be read withholds no list from an agent."""

from __future__ import annotations

from pathlib import Path

from bot.intake.doors import served_doors
from tests.bot.intake.conftest import TOKENS, Outside, agents
from tests.builders import MAIL, a_policy
from tests.by_hand import by_hand
from tests.stage import staged
from tests.stories.forging import DATABASE


async def test_an_agent_sees_its_proposals_although_reviews_of_one_cannot_be_read(
    tmp_path: Path,
) -> None:
    """It was answered 503, to try again for ever."""
    async with staged(DATABASE, tmp_path, a_policy(agents=agents())) as world:
        for number in (1, 2):
            target = MAIL["target"] | {"resource_id": f"of-{number}"}
            await world.submits(MAIL, proposal_id=f"p{number}", target=target)
            await world.approves("ana", f"p{number}")
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
