"""Cases F09 and F10 where people are: who opens what is neither BLOCK's nor the orchestrator's."""

from __future__ import annotations

from dataclasses import replace

from lifecycle.tier import Tier
from tests.builders import MAIL, PROD
from tests.fakes.discord_stage import ANA, BEN, CROSS, NOUR, TICK, DiscordStage, until
from tests.slack_stage import on_slack

TRANSFER = {
    "tool": "financial-transfer",
    "action_type": "transact",
    "parameters": {"amount": "5.00", "currency": "USD"},
}


async def test_F09_on_discord_it_has_no_card_and_no_word_approves_it(
    discord_stage: DiscordStage,
) -> None:
    proposal_id = discord_stage.sends(PROD, **TRANSFER)
    await until(discord_stage.answers, "the answer")
    for message in list(discord_stage.server.state.messages["701"].values()):
        if message.data["author"]["id"] == "900":
            for person in (ANA, BEN):
                discord_stage.server.reacts(person, message, TICK)
    discord_stage.server.says(ANA, f"!approve {proposal_id}")
    await until(lambda: [t for t in discord_stage.server.said() if "Already decided" in t], "no")

    blocked = await discord_stage.proposal(proposal_id)
    assert (blocked.state.value, blocked.reason) == ("rejected", "tool_blocked")
    assert discord_stage.server.cards() == []
    assert discord_stage.tool("financial-transfer").calls == []


async def test_F09_on_slack_it_has_no_card_and_no_word_approves_it() -> None:
    async with on_slack() as slack:
        document = slack.document(PROD, proposal_id="p1", **TRANSFER)
        await slack.server.proposes("ULEILA", document)
        answer = await slack.answered(proposal_id="p1")
        for message in list(slack.server.workspace.messages):
            await slack.server.reacts("UANA", message.ts)
        await slack.server.slash("UANA", "approve p1")
        await slack.settles()
        assert answer["reason"] == "tool_blocked"
        assert slack.cards("p1") == []
        assert slack.world.tool("financial-transfer").calls == []


async def test_F10_on_discord_the_orchestrator_opens_its_own_tier_and_stops_nothing_that_runs(
    discord_unstarted: DiscordStage,
) -> None:
    stage = discord_unstarted
    by_hand = {"orchestrator": "nour", "auto_approval_tiers": frozenset[Tier]()}
    stage.policy = replace(stage.policy, **by_hand)
    await stage.begins()
    mail, deploy = await stage.proposes(MAIL), await stage.proposes(PROD)
    own = await stage.proposes(bot=NOUR, parameters=MAIL["parameters"] | {"subject": "own"})
    for other in (deploy, own):
        stage.server.reacts(NOUR, await stage.card(other), TICK)
        stage.server.says(NOUR, f"!approve {other}")
    stage.server.says(NOUR, f"!reject {deploy} no")
    await stage.quiet()
    codes = [row["reason"] for row in await stage.audit("ignored")]
    refused = ["not_a_reviewer", *["not_auto_approvable"] * 2, *["own_proposal"] * 2]
    assert sorted(codes) == refused
    for other in (deploy, own):
        assert (await stage.proposal(other)).state.value == "sentinel_approved"

    stage.server.reacts(NOUR, await stage.card(mail), TICK)
    opened = await stage.reaches(mail, "executing")
    assert str(opened.opener) == "agent nour"
    stage.server.reacts(NOUR, await stage.card(mail), CROSS)
    await stage.ignored("not_a_reviewer", 2)
    assert (await stage.proposal(mail)).state.value == "executing"
