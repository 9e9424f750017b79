"""Case M11 whole: three ends at once, on two platforms, while edits fail in both ways."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from tests.builders import MAIL, PROD
from tests.fakes.discord_server.state import Message as DiscordMessage
from tests.fakes.slack_server.workspace import Message
from tests.mirror import Mirror, mirrored
from tests.roomy import a_roomy_policy
from tests.slack_stage import shown

OURS_ON_SLACK, OURS_ON_DISCORD = "USIGNOFF", "900"


def on_discord(card: DiscordMessage) -> str:
    return str(card.data["embeds"])


def live_on_discord(card: DiscordMessage) -> bool:
    seeded = OURS_ON_DISCORD in card.who("✅") + card.who("❌")
    return seeded or bool(card.data["components"])


def live_on_slack(card: Message) -> bool:
    return OURS_ON_SLACK in str(card.reactions) or "'actions'" in str(card.blocks)


async def three(both: Mirror) -> list[tuple[DiscordMessage, Message]]:
    """Let leila propose p1, p2 and p3; return their cards on Discord and on Slack."""
    cards = [await both.proposes(PROD)]
    for subject in ("second", "third"):
        cards.append(
            await both.proposes(MAIL, parameters=MAIL["parameters"] | {"subject": subject})
        )
    return cards


async def test_M11_every_card_shows_its_end_within_seconds_and_one_that_is_gone_is_let_go(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO, "signoff.delivery")
    policy: dict[str, Any] = {"policy": a_roomy_policy()}
    async with mirrored(**policy) as both:
        (first, here1), (second, here2), (third, here3) = await three(both)
        slack, discord = both.slack, both.discord
        slack.server.fails("chat.update", "status", status=500, holding=here1.ts)
        discord.fails("PATCH", first.id, status=500)
        discord.fails("PATCH", third.id, status=404, code=10008, times=None)
        slack.server.workspace.messages.remove(here2)

        await slack.server.reacts("UANA", here1.ts)
        await slack.server.says("ULEILA", "<@USIGNOFF> withdraw p3")
        await slack.keeps_delivering(lambda: "completed" in shown(here1))
        await slack.keeps_delivering(lambda: "completed" in on_discord(first))
        slack.world.clock.advance(86_401)
        await slack.world.workflow.expire_due()
        await slack.keeps_delivering(lambda: "rejected (expired)" in on_discord(second))
        await slack.keeps_delivering(lambda: "rejected (withdrawn)" in shown(here3))
        await slack.keeps_delivering(
            lambda: (
                not any(map(live_on_discord, (first, second)))
                and not any(map(live_on_slack, (here1, here3)))
            )
        )

        for where, tried in (
            (third.id, discord.called("PATCH", third.id)),
            (here2.ts, edits(both)),
        ):
            assert len(tried) == 1, where
        assert "the card of p3 was deleted on discord" in caplog.text
        assert "the card of p2 was deleted on slack" in caplog.text
        assert [len(slack.cards(each)) for each in ("p1", "p2", "p3")] == [1, 0, 1]
        assert [len(both.discord_cards(each)) for each in ("p1", "p2", "p3")] == [1, 1, 1]


def edits(both: Mirror) -> list[Any]:
    """Return the edits of a card of p2 that was tried on Slack."""
    calls = both.slack.server.calls_of("chat.update")
    return [call for call in calls if "p2 · sha256" in str(call.arguments)]
