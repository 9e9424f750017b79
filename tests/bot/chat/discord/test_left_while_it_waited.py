"""The ✅ of somebody who has left since stands on its card on Discord, and lets nothing begin."""

from __future__ import annotations

from bot.trail import verified_in
from tests.bot.chat.discord.cards import read_again, seeded
from tests.bot.chat.discord.standing import DEPLOY, state_of
from tests.builders import PROD
from tests.fakes.discord_server.state import GUILD, Message
from tests.fakes.discord_stage import ANA, BEN, TICK, DiscordStage


async def begins_no_more(stage: DiscordStage) -> tuple[str, Message]:
    """Let ben approve what stands still, be banned, and then let it go on."""
    proposal_id, card = await seeded(stage, PROD)
    stage.server.says(ANA, "!freeze ben's account is stolen")
    await stage.quiet()
    stage.server.reacts(BEN, card, TICK)
    await stage.quiet()
    del stage.server.state.members[GUILD][BEN]
    stage.clock.advance(60)
    stage.server.says(ANA, "!thaw")
    await stage.quiet()
    await stage.passes(seconds=3)
    await stage.quiet()
    assert stage.tool(DEPLOY).verbs() == []
    return proposal_id, card


async def test_it_is_refused_once_and_nobody_asks_for_its_giver_at_every_reading(
    stage: DiscordStage,
) -> None:
    proposal_id, card = await begins_no_more(stage)
    await read_again(stage)
    asked = len(stage.server.called("GET", f"/members/{BEN}"))
    for _ in range(3):
        await read_again(stage)

    assert BEN in card.who(TICK)
    assert len(await stage.audit("ignored")) == 1
    assert len(stage.server.called("GET", f"/members/{BEN}")) == asked
    stage.server.reacts(ANA, card, TICK)
    await stage.reaches(proposal_id, "completed")
    assert (await verified_in(stage.store, None, lambda _: None)).problems == []


async def test_who_has_joined_again_opens_it_by_a_check_mark_given_anew(
    stage: DiscordStage,
) -> None:
    proposal_id, card = await begins_no_more(stage)
    await read_again(stage)
    stage.server.state.join(BEN)
    await read_again(stage)
    assert await state_of(stage, proposal_id) == "sentinel_approved"
    stage.server.unreacts(BEN, card, TICK)
    await stage.quiet()
    stage.server.reacts(BEN, card, TICK)

    await stage.reaches(proposal_id, "completed")
    assert (await verified_in(stage.store, None, lambda _: None)).problems == []


async def test_who_has_joined_again_before_anybody_read_it_opens_it_by_what_stands(
    stage: DiscordStage,
) -> None:
    proposal_id, _ = await begins_no_more(stage)
    stage.server.state.join(BEN)
    await read_again(stage)

    assert await state_of(stage, proposal_id) == "completed"
