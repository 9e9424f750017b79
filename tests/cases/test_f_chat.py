"""Case F09 where people are: nothing and nobody executes what is at the tier BLOCK."""

from __future__ import annotations

from tests.builders import PROD
from tests.fakes.discord_stage import ANA, BEN, TICK, DiscordStage, until
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
