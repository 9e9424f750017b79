"""Case M10 on Slack: whoever ended it, the card and `show` say who, when and why."""

from __future__ import annotations

import pytest

from tests.builders import MAIL, PROD
from tests.ends import NOUR_OPENS, WRONG, ends_on
from tests.slack_stage import (
    OnSlack,
    eventually,
    eventually_async,
    on_slack,
    shown,
    unescaped,
)

ENDS = ends_on("slack")


async def delivered(slack: OnSlack) -> bool:
    """Say whether the card stands and is written down: before that nothing begins."""
    card = await slack.world.store.read(lambda tx: tx.cards.get("p1", "slack"))
    return card is not None and card.delivered


async def begins_for(slack: OnSlack, end: str) -> None:
    """Let leila propose p1."""
    base = PROD if end in ("approved by ana", "rejected by ben") else MAIL
    changes = WRONG if "Sentinel" in end else {}
    await slack.server.proposes("ULEILA", slack.document(base, proposal_id="p1", **changes))
    await eventually_async(lambda: delivered(slack), "the card")
    await slack.world.passes(minutes=3)


async def comes_to(slack: OnSlack, end: str) -> None:
    """Bring p1 to its end."""
    match end:
        case "approved by ana":
            await slack.server.slash("UANA", "approve p1 looks right")
        case "rejected by ben":
            await slack.server.slash("UBEN", "reject p1 wrong customer")
        case "rolled back by ana":
            await slack.server.slash("UANA", "roll-back p1 wrong amount")
        case "expired":
            await slack.world.passes(minutes=24 * 60)
        case "opened by nour":
            await slack.world.passes(minutes=15)


@pytest.mark.parametrize("end", ENDS)
async def test_M10_card_and_show_name_who_when_and_why(end: str, unused_tcp_port: int) -> None:
    state, *said = ENDS[end]
    policy = NOUR_OPENS if end in ("rolled back by ana", "opened by nour") else None
    # A socket would be replaced whenever hours pass, and what is said meanwhile be lost.
    async with on_slack(policy, port=unused_tcp_port) as slack:
        slack.over_http()
        await begins_for(slack, end)
        await comes_to(slack, end)
        await slack.stands("p1", state)
        (card,) = slack.cards("p1")
        await eventually(lambda: said[-1] in shown(card), "the end on the card")
        await slack.settles()
        before = len(slack.server.responses)
        await slack.server.slash("UBEN", "show p1")
        await eventually(lambda: len(slack.server.responses) > before, "the answer to show")
        told = unescaped(slack.server.responses[-1]["text"])
        for words in said:
            assert words in shown(card)
            assert words in told
