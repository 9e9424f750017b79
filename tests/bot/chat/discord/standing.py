"""What stands on a Discord card, what of it counts, and how it came to be so."""

from __future__ import annotations

from dataclasses import replace

from lifecycle.checking.sentinel_run import Sentinel
from lifecycle.review import Review
from sentinel_rules import load_rules
from tests.bot.chat.discord.cards import seeded
from tests.builders import PROD
from tests.fakes.discord_server.faults import Fault
from tests.fakes.discord_server.state import NORMAL, Message
from tests.fakes.discord_stage import ANA, TICK, DiscordStage, until
from tests.roads import adopted

DUAL = {"approval_class": "dual"}
WINDOW_S = 900
DEPLOY, SEND = "production-deploy", "send-email"


async def approved_once(stage: DiscordStage, person: str = ANA) -> tuple[str, Message]:
    """Let one of two approve a deployment."""
    proposal_id, card = await seeded(stage, PROD, **DUAL)
    stage.server.reacts(person, card, TICK)
    await until(lambda: stage.reviews(proposal_id), "counted")
    await stage.quiet()
    return proposal_id, card


async def unread_reviewer(stage: DiscordStage) -> tuple[str, Message, Fault]:
    """Let ana approve while it cannot be told whether she is a member; return the fault last."""
    proposal_id, card = await seeded(stage, PROD)
    outage = stage.server.fails("GET", f"/members/{ANA}", status=403, times=None)
    stage.server.reacts(ANA, card, TICK)
    await stage.ignored("not_a_reviewer")
    return proposal_id, card, outage


async def counting(stage: DiscordStage, proposal_id: str) -> list[str]:
    return [review.person for review in await stage.reviews(proposal_id) if review.counts]


async def counts_alone(stage: DiscordStage, proposal_id: str, person: str) -> None:
    """Wait until this person's approval counts; nobody else's does, and nothing begins."""

    async def counts() -> bool:
        stage.clock.advance(1)
        return person in await counting(stage, proposal_id)

    await until(counts, f"{person}'s counts")
    await stage.passes(seconds=3)
    await stage.quiet()
    assert await counting(stage, proposal_id) == [person]
    assert stage.tool(DEPLOY).verbs() == []


async def newest(stage: DiscordStage, proposal_id: str) -> Review:
    return (await stage.reviews(proposal_id))[-1]


async def state_of(stage: DiscordStage, proposal_id: str) -> str:
    return (await stage.proposal(proposal_id)).state.value


def unheard(card: Message, person: str, emoji: str) -> None:
    """Put somebody's emoji there without a word to the bot, as on a line that is dead."""
    card.reactions.setdefault(emoji, ([], []))[NORMAL].append(person)


def taken_off_unheard(card: Message, person: str, emoji: str) -> None:
    """Take somebody's emoji off without a word to the bot."""
    card.reactions[emoji][NORMAL].remove(person)


async def approved_while_frozen(stage: DiscordStage) -> tuple[str, Message]:
    """Let ana approve what cannot begin."""
    proposal_id, card = await seeded(stage, PROD)
    stage.server.says(ANA, "!freeze wait")
    await stage.quiet()
    stage.server.reacts(ANA, card, TICK)
    await until(lambda: stage.reviews(proposal_id), "counted")
    await stage.quiet()
    return proposal_id, card


async def void_by_policy(stage: DiscordStage) -> tuple[str, Message]:
    """Let ana approve, and a policy with other reviewers come before it could begin."""
    proposal_id, card = await approved_while_frozen(stage)
    tools = dict(stage.policy.tools)
    tools[DEPLOY] = replace(tools[DEPLOY], reviewers="operators")
    policy = replace(stage.policy, tools=tools, digest="pol1_" + "1" * 64)
    await adopted(stage.workflow, policy, Sentinel(load_rules(policy.rules)))
    stage.server.says(ANA, "!thaw")
    await stage.quiet()
    assert await counting(stage, proposal_id) == []
    await stage.card(proposal_id)
    return proposal_id, card
