"""Case M10 on Discord: whoever ended it, the card and `!show` say who, when and why."""

from __future__ import annotations

from typing import Any

import pytest

from tests.builders import MAIL, PROD
from tests.ends import NOUR_OPENS, WRONG, ends_on
from tests.fakes.discord_server.state import Message
from tests.fakes.discord_stage import ANA, BEN, DiscordStage, until

ENDS = ends_on("discord")


def plain(text: str) -> str:
    """Without what keeps Discord from reading markup."""
    return text.replace("\\", "")


def shown(card: Message) -> str:
    fields: list[dict[str, Any]] = card.data["embeds"][0]["fields"]
    return plain("\n".join(f"{field['name']}: {field['value']}" for field in fields))


async def begins_for(stage: DiscordStage, end: str) -> None:
    """Let leila propose p1, where nour opens mails if the end needs it."""
    if end in ("rolled back by ana", "opened by nour"):
        stage.policy = NOUR_OPENS
    await stage.begins()
    deploys = end in ("approved by ana", "rejected by ben")
    await stage.proposes(PROD if deploys else MAIL, **(WRONG if "Sentinel" in end else {}))
    await stage.passes(minutes=3)


async def comes_to(stage: DiscordStage, end: str) -> None:
    """Bring p1 to its end."""
    match end:
        case "approved by ana":
            stage.server.says(ANA, "!approve p1 looks right")
        case "rejected by ben":
            stage.server.says(BEN, "!reject p1 wrong customer")
        case "rolled back by ana":
            stage.server.says(ANA, "!roll-back p1 wrong amount")
        case "expired":
            await stage.passes(minutes=24 * 60)
        case "opened by nour":
            await stage.passes(minutes=15)


@pytest.mark.parametrize("end", ENDS)
async def test_M10_card_and_show_name_who_when_and_why(
    discord_unstarted: DiscordStage, end: str
) -> None:
    stage, (state, *said) = discord_unstarted, ENDS[end]
    await begins_for(stage, end)
    await comes_to(stage, end)
    await stage.reaches("p1", state)
    card = shown(await stage.card("p1"))
    stage.server.says(ANA, "!show p1")
    told = await until(
        lambda: [t for t in stage.server.said() if "• Decisions" in t], "the answer to !show"
    )
    for words in said:
        assert words in card
        assert words in plain(told[-1])
