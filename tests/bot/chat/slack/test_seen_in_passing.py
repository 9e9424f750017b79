"""A ✅ that is seen on a Slack card in passing, before Slack tells of it, counts once it does."""

from __future__ import annotations

from dataclasses import replace

from lifecycle.answers import Sender
from lifecycle.checking.sentinel_run import Sentinel
from lifecycle.ports import Transaction
from lifecycle.proposal import ActorKind
from sentinel_rules import load_rules
from tests.bot.chat.slack.counted import DEPLOY, DUAL, all_done, counting
from tests.builders import PROD
from tests.fakes.slack_server.stage import OPS
from tests.roads import adopted
from tests.slack_stage import OnSlack, eventually_async, on_slack

TICK = "white_check_mark"


async def is_up_to_date(slack: OnSlack) -> bool:
    def view(tx: Transaction) -> bool:
        card, proposal = tx.cards.get("p1", "slack"), tx.proposals.get("p1")
        return card is not None and card.shown_version == getattr(proposal, "version", None)

    return await slack.world.store.read(view)


async def anas_approval_becomes_void(slack: OnSlack) -> None:
    """Let ana approve on the terminal, and a policy of other reviewers come. The card says so."""
    workflow = slack.world.workflow
    sender = Sender("terminal", ActorKind.PERSON, "ana", "ana", "e7")
    assert (await workflow.approve("p1", sender)).done
    people, tools = dict(workflow.policy.people), dict(workflow.policy.tools)
    for name in ("ana", "ben"):
        people[name] = replace(people[name], groups=people[name].groups | {"operators"})
    tools[DEPLOY] = replace(tools[DEPLOY], reviewers="operators")
    policy = replace(workflow.policy, tools=tools, people=people, digest="pol1_" + "1" * 64)
    await adopted(workflow, policy, Sentinel(load_rules(policy.rules)))
    assert await counting(slack) == []
    slack.broadcast.nudge()
    await eventually_async(lambda: is_up_to_date(slack), "the card shows it")


async def test_one_that_was_given_anew_is_not_taken_for_one_beside_the_void_approval() -> None:
    """Ben's came first, and the card was read because of a ❌ of somebody who may not stop it."""
    async with on_slack() as slack:
        card = await slack.proposes(PROD, **DUAL)
        await slack.settles()
        await anas_approval_becomes_void(slack)
        slack.world.clock.advance(60)
        given = slack.server.reaction("reaction_added", "UANA", card.ts, TICK, OPS)
        await slack.server.reacts("UANA", card.ts, heard=False)
        slack.world.clock.advance(1)
        await slack.server.reacts("UCAL", card.ts, "x", heard=False)
        await slack.server.reacts("UBEN", card.ts)
        await slack.settles()
        assert await counting(slack) == ["ben"]
        await slack.server.event(given)
        await all_done(slack)
        assert await counting(slack) == ["ben", "ana"]
