"""What a test on Discord begins with: a card that stands, in its window, read again."""

from __future__ import annotations

from typing import Any

from tests.fakes.discord_server.state import Message
from tests.fakes.discord_stage import ANA, BEN, CROSS, TICK, DiscordStage, until

A_WHILE_S = 181


async def seeded(stage: DiscordStage, *args: Any, **changes: Any) -> tuple[str, Message]:
    proposal_id = await stage.proposes(*args, **changes)
    card = await stage.card(proposal_id)
    await until(lambda: card.who(CROSS) == ["900"], "seeds")
    await stage.quiet()
    return proposal_id, card


async def in_window(stage: DiscordStage) -> tuple[str, Message]:
    proposal_id, card = await seeded(stage)
    stage.server.reacts(ANA, card, TICK)
    await stage.reaches(proposal_id, "executing")
    await stage.card(proposal_id)
    await stage.quiet()
    return proposal_id, card


async def read_again(stage: DiscordStage) -> None:
    """Let the reading of every three minutes come; the connection lives meanwhile."""
    stage.clock.advance(A_WHILE_S)
    stage.surface.hearing.alive()
    await stage.keeps_house()
    await stage.quiet()


def ben_stops(stage: DiscordStage, proposal_id: str, card: Message, how: str) -> None:
    """Let ben stop it: by a form, a slash command, an emoji or, by any other name, in words."""
    match how:
        case "form":
            stage.server.submits(BEN, f"signoff:reason:{card.id}", card, text="wrong version")
        case "slash":
            stage.server.runs(BEN, "reject", id=proposal_id, reason="wrong version")
        case "emoji":
            stage.server.reacts(BEN, card, CROSS)
        case _:
            stage.server.says(BEN, f"!reject {proposal_id} wrong version")
