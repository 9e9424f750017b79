"""A window closed while Discord's card had not been found: a ❌ that stood there is told of."""

from __future__ import annotations

from functools import partial

import pytest

from tests.bot.chat.discord.standing import unheard
from tests.bot.chat.test_closed_unread import (
    announced,
    ended,
    keeping_house,
    opens_by_itself,
    ran_and_shown,
)
from tests.bot.chat.test_two_surfaces import Two
from tests.bot.chat.test_two_surfaces import discord_server as discord_server
from tests.bot.chat.test_two_surfaces import two as two
from tests.builders import MAIL
from tests.fakes.discord_stage import BEN, CROSS, until


async def test_a_stop_is_told_of_that_stood_on_a_card_nobody_had_found_at_an_early_check_mark(
    two: Two, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bot.chat.discord.reactions._EARLY_S", (0.01,))
    await opens_by_itself(two)
    two.server.fails("POST", "/channels/701/messages$", acts=True, says="PROPOSAL", times=1)
    unread = two.server.fails("GET", "/channels/701/messages$", status=500, times=None)
    proposal_id = two.sends(MAIL)
    on_slack = await until(lambda: two.slack_card(proposal_id), "the card on Slack")
    shown = keeping_house(two, partial(ran_and_shown, two, proposal_id))
    await until(shown, "what may be closed early")
    unheard(two.server.cards()[0], BEN, CROSS)
    assert two.slack_server is not None
    await two.slack_server.reacts("UANA", on_slack.ts)
    await until(partial(ended, two, proposal_id), "closed early")
    unread.times = 0

    async def told() -> bool:
        two.broadcast.nudge()
        return bool(await announced(two))

    await until(keeping_house(two, told), "told")


async def test_a_stop_is_told_of_that_stood_on_a_card_posted_anew_which_nobody_had_found(
    two: Two, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where what it was about had ended nobody looked for it any more."""
    monkeypatch.setattr("bot.chat.discord.reactions._EARLY_S", (0.01,))
    proposal_id, card, on_slack = await two.on_both(MAIL)
    assert two.slack_server is not None
    await two.slack_server.reacts("UANA", on_slack.ts)
    await two.reaches(proposal_id, "executing")
    await two.quiet()
    unread = two.server.fails("GET", "/channels/701/messages$", status=500, times=None)
    lost = two.server.fails("POST", "/channels/701/messages$", acts=True, says="PROPOSAL", times=1)
    two.server.deletes(card)
    await until(lambda: lost.times == 0 and two.server.cards(), "posted, its answer lost")
    unheard(two.server.cards()[0], BEN, CROSS)
    two.clock.advance(900)
    await until(keeping_house(two, partial(ended, two, proposal_id)), "closed")
    unread.times = 0

    async def told() -> bool:
        two.broadcast.nudge()
        return bool(await announced(two))

    await until(keeping_house(two, told), "told")
    assert len(two.server.cards()) == 1
