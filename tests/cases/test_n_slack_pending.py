"""Case N01 on Slack: every proposal that waits is reached, page by page."""

from __future__ import annotations

import re

from tests.builders import MAIL
from tests.roomy import a_roomy_policy
from tests.slack_stage import OnSlack, eventually, on_slack, shown

#: A longer message is shown in pieces.
LONGEST = 12_000


async def stores(slack: OnSlack, ids: list[str]) -> None:
    """Store a proposal for each id, a second apart; some have a long title."""
    for number, proposal_id in enumerate(ids):
        subject = f"Invoice {number} " + "t" * (200 if number % 3 == 0 else 0)
        parameters = {**MAIL["parameters"], "subject": subject}
        document = slack.document(proposal_id=proposal_id, parameters=parameters)
        await slack.world.workflow.submit(slack.bytes_of(document), slack.leila())
        slack.world.clock.advance(1)


async def test_N01_every_one_of_sixty_is_reached_page_by_page() -> None:
    ids = [f"q{number:02}" for number in range(60)]
    async with on_slack(a_roomy_policy()) as slack:
        await stores(slack, ids)
        command, found = "pending", list[str]()
        for number in range(1, 7):
            heading = f"60 pending, page {number} of 6"
            await slack.server.says("UANA", f"<@USIGNOFF> {command}")
            (page,) = await eventually(lambda heading=heading: slack.said(heading), heading)
            found += re.findall(r"^(q\d\d) · ", shown(page), re.MULTILINE)
            more = re.search(r"More: .*?(pending \d)", shown(page))
            assert (more is not None) == (number < 6)
            assert len(page.text) <= LONGEST
            command = more[1] if more else ""
        assert found == ids
        assert slack.server.workspace.files == {}


async def test_N01_a_slash_command_reaches_every_page_too() -> None:
    ids = [f"q{number:02}" for number in range(60)]
    async with on_slack(a_roomy_policy()) as slack:
        await stores(slack, ids)
        for number in range(1, 7):
            await slack.server.slash("UANA", f"pending {number}")
            await eventually(lambda number=number: len(slack.server.responses) == number, "a page")
        pages = [each["text"] for each in slack.server.responses]
        assert max(map(len, pages)) <= LONGEST
        assert re.findall(r"^(q\d\d) · ", "\n".join(pages), re.MULTILINE) == ids
