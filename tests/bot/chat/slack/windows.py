"""A proposal on Slack that was approved, inside its rollback window."""

from __future__ import annotations

from tests.builders import MAIL
from tests.fakes.slack_server.workspace import Message
from tests.slack_stage import OnSlack


async def in_window(slack: OnSlack, *, typed: bool = False) -> Message:
    """Let leila propose a mail and ana approve it; return the card, once nothing moves any more.

    Where she `typed` it nobody stands under the card, and it is read without asking who they are.
    """
    card = await slack.proposes(MAIL)
    if typed:
        await slack.server.says("UANA", "<@USIGNOFF> approve p1")
    else:
        await slack.server.reacts("UANA", card.ts)
    await slack.stands("p1", "executing")
    await slack.settles()
    await slack.keeps_catching_up()
    return card
