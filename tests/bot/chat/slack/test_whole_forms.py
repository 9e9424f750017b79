"""A form that Slack signed is read whole, whatever words stand in it."""

from __future__ import annotations

import pytest

from tests.builders import PROD
from tests.slack_stage import eventually, on_slack

#: Bolt takes every form with this word in it for an interaction, and drops one that is none.
WORD = "payload"


async def test_a_rejection_by_command_counts_whatever_its_reason_says(
    unused_tcp_port: int,
) -> None:
    async with on_slack(port=unused_tcp_port) as slack:
        slack.over_http()
        await slack.proposes(PROD)
        said = await slack.server.slash("UBEN", f"reject p1 wrong {WORD}")
        assert (said.status, said.body) == (200, "Received reject; the answer follows.")
        await slack.stands("p1", "rejected")
        assert (await slack.world.proposal("p1")).explanation == f"wrong {WORD}"


@pytest.mark.parametrize("command", ["approve", "reject"])
async def test_no_id_that_an_agent_chooses_makes_commands_about_it_deaf(
    unused_tcp_port: int, command: str
) -> None:
    async with on_slack(port=unused_tcp_port) as slack:
        slack.over_http()
        await slack.proposes(PROD, proposal_id=f"{WORD}-1")
        said = await slack.server.slash("UANA", f"{command} {WORD}-1 because")
        assert f"Received {command}" in said.body
        await slack.stands(f"{WORD}-1", {"approve": "completed", "reject": "rejected"}[command])


async def test_a_form_of_an_interaction_whose_reason_has_the_word_counts(
    unused_tcp_port: int,
) -> None:
    async with on_slack(port=unused_tcp_port) as slack:
        slack.over_http()
        card = await slack.proposes(PROD)
        await slack.server.presses("UBEN", card, "signoff_reject")
        view = (await eventually(lambda: slack.server.workspace.views))[0]
        answered = await slack.server.submits("UBEN", view, {"reason_text": f"wrong {WORD}="})
        assert answered.status == 200
        await slack.stands("p1", "rejected")
        assert (await slack.world.proposal("p1")).explanation == f"wrong {WORD}="
