"""In a flood people are answered first, and what others want shown does not come last."""

from __future__ import annotations

from dataclasses import replace

import pytest

from lifecycle.policy import Policy
from tests.builders import MAIL, PROD
from tests.fakes.slack_server.workspace import Message
from tests.roomy import a_roomy_policy
from tests.slack_stage import OnSlack, eventually, eventually_async, on_slack, shown

FLOOD = 30


def with_nour() -> Policy:
    """Return a policy in which nour speaks on Slack too, and nobody is near a limit."""
    policy = a_roomy_policy()
    nour = replace(policy.agents["nour"], accounts={"slack": "T1/UNOUR"})
    return replace(policy, agents={**policy.agents, "nour": nour})


def posted(slack: OnSlack, start: int) -> list[Message]:
    """Return what the bot posted after `start`, oldest first."""
    mine = slack.server.workspace.bot_user
    return [m for m in slack.server.workspace.messages[start:] if m.user == mine]


async def stored(slack: OnSlack, proposal_ids: list[str]) -> None:
    """Wait until these proposals are stored and judged."""

    async def all_of_them() -> bool:
        rows = await slack.world.store.read(
            lambda tx: [tx.proposals.get(each) for each in proposal_ids]
        )
        return all(row is not None and row.verdict is not None for row in rows)

    await eventually_async(all_of_them, "storing")


async def flooded(slack: OnSlack) -> None:
    """Let leila propose much while Slack answers no post; nour proposes once after her."""
    await eventually(lambda: slack.said("what is open"), "the board")
    slack.server.hold("chat.postMessage")
    ids = [f"leila{number:02}" for number in range(FLOOD)]
    for each in ids:
        parameters = {**MAIL["parameters"], "subject": f"Invoice {each}"}
        document = slack.document(proposal_id=each, parameters=parameters)
        await slack.server.proposes("ULEILA", document)
    await stored(slack, ids)
    document = slack.document(PROD, proposal_id="nours", actor="nour")
    await slack.server.proposes("UNOUR", document)
    await stored(slack, ["nours"])


async def test_N03_a_person_is_answered_first_and_another_agents_card_comes_at_once() -> None:
    async with on_slack(with_nour()) as slack:
        await flooded(slack)
        await slack.server.says("UANA", "<@USIGNOFF> nonsense")

        async def run() -> bool:
            return await slack.codes() == ["unknown_command"]

        await eventually_async(run, "the command")
        start = len(slack.server.workspace.messages)
        slack.server.release("chat.postMessage")
        await eventually(lambda: len(slack.answers()) == FLOOD + 1, "every answer")
        order = [shown(each) for each in posted(slack, start)]
        answered = next(n for n, each in enumerate(order) if "There is no command" in each)
        card = next(n for n, each in enumerate(order) if "nours · sha256" in each)
        theirs = next(n for n, each in enumerate(order) if '"proposal_id": "nours"' in each)
        assert (answered < 4, card < 12, theirs < 12) == (True, True, True), (
            answered,
            card,
            theirs,
        )


async def test_a_check_mark_of_the_orchestrator_that_is_gone_again_opens_nothing() -> None:
    policy = replace(with_nour(), orchestrator="nour")
    async with on_slack(policy) as slack:
        card = await slack.proposes(MAIL)
        slack.server.hold("users.info")
        await slack.server.reacts("UNOUR", card.ts)
        await slack.server.unreacts("UNOUR", card.ts, heard=False)
        slack.server.release("users.info")
        await slack.settles()
        assert (await slack.world.proposal("p1")).state.value == "sentinel_approved"
        await slack.server.reacts("UNOUR", card.ts)
        await slack.stands("p1", "executing")


@pytest.mark.parametrize("who", ["UGUEST", "ULEILA"])
async def test_for_whoever_may_decide_nothing_no_card_is_looked_at_however_often_they_react(
    who: str,
) -> None:
    async with on_slack() as slack:
        card = await slack.proposes(PROD)
        await slack.keeps_catching_up()
        before = len(slack.server.calls_of("reactions.get"))
        for emoji in ("white_check_mark", "x"):
            for _ in range(5):
                await slack.server.reacts(who, card.ts, emoji)
                await slack.server.unreacts(who, card.ts, emoji)
        await slack.settles()
        assert len(slack.server.calls_of("reactions.get")) == before
        refused = [code for code in await slack.codes("p1") if code != "already_decided"]
        assert len(refused) == 10
        await slack.server.reacts("UANA", card.ts)
        await slack.stands("p1", "completed")
