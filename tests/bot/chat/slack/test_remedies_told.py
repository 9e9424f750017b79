"""A remedy that is told on Slack can be typed there as it is told."""

from __future__ import annotations

import re

from tests.bot.chat.slack.counted import DEPLOY
from tests.builders import PROD
from tests.fakes.tools import raising
from tests.slack_stage import eventually, on_slack, shown


async def test_the_call_for_a_person_names_commands_as_they_are_typed_here() -> None:
    async with on_slack() as slack:
        slack.world.tool(DEPLOY).on["execute"] = raising(RuntimeError("the line was cut"))
        card = await slack.proposes(PROD)
        await slack.server.reacts("UANA", card.ts)
        called = await eventually(lambda: slack.said("p1 (production-deploy) needs a person"))
        found = re.search(r"/signoff (settle p1 happened)", shown(called[0]))
        assert found is not None

        await slack.server.reacts("UBEN", card.ts)
        note = await eventually(lambda: [each for each in slack.hints() if "settle" in each])
        assert "/signoff settle p1 happened" in note[0]

        await slack.server.slash("UBEN", found[1])
        await slack.stands("p1", "completed")
