"""A check mark on a Discord card counts for what that showed, and who gave it hears where not."""

from __future__ import annotations

from dataclasses import replace

from lifecycle.checking.sentinel_run import Sentinel
from sentinel_rules import load_rules
from tests.bot.chat.discord.cards import read_again, seeded
from tests.bot.chat.discord.standing import DEPLOY, DUAL, counting, newest, state_of, unheard
from tests.builders import PROD
from tests.fakes.discord_server.faults import Fault
from tests.fakes.discord_server.state import Message
from tests.fakes.discord_stage import BEN, CROSS, TICK, DiscordStage, until
from tests.roads import adopted

EDITS = "/messages/\\d+$"


async def goes_elsewhere(stage: DiscordStage) -> None:
    """Let a policy come under which the deployment calls another place."""
    tools = dict(stage.workflow.policy.tools)
    tools[DEPLOY] = replace(tools[DEPLOY], settings={"url": "https://other.example/b"})
    policy = replace(stage.workflow.policy, tools=tools, digest="pol1_" + "9" * 64)
    await adopted(stage.workflow, policy, Sentinel(load_rules(policy.rules)))
    stage.policy = policy


async def shows_the_old(stage: DiscordStage) -> tuple[str, Message, Fault]:
    """Let a card stand that Discord lets nobody edit after the policy has changed."""
    proposal_id, card = await seeded(stage, PROD, **DUAL)
    fault = stage.server.fails("PATCH", EDITS, status=503, times=None)
    await goes_elsewhere(stage)
    return proposal_id, card, fault


async def shows_the_new(stage: DiscordStage, proposal_id: str, fault: Fault) -> None:
    fault.times = 0
    stage.clock.advance(61)
    stage.surface.hearing.alive()
    stage.broadcast.nudge()
    await stage.card(proposal_id)


def told(stage: DiscordStage) -> list[str]:
    return [said for said in stage.server.said() if "It was judged anew" in said]


async def test_a_check_mark_on_what_a_card_showed_before_counts_once_it_is_put_there_again(
    stage: DiscordStage,
) -> None:
    proposal_id, card, fault = await shows_the_old(stage)
    stage.server.reacts(BEN, card, TICK)
    await stage.ignored("stale_card")
    await until(lambda: told(stage), "told")
    await shows_the_new(stage, proposal_id, fault)
    for _ in range(2):
        await read_again(stage)
    assert BEN in card.who(TICK)
    assert await counting(stage, proposal_id) == []
    assert len(told(stage)) == 1
    assert len(await stage.audit("ignored", "stale_card")) == 1

    stage.server.unreacts(BEN, card, TICK)
    stage.server.reacts(BEN, card, TICK)
    await until(lambda: stage.reviews(proposal_id), "counted")
    assert await counting(stage, proposal_id) == ["ben"]


async def test_a_cross_on_what_a_card_showed_before_counts(stage: DiscordStage) -> None:
    proposal_id, card, _ = await shows_the_old(stage)
    stage.server.reacts(BEN, card, CROSS)
    await until(lambda: stage.reviews(proposal_id), "heard")
    assert await state_of(stage, proposal_id) == "rejected"


async def test_an_unheard_check_mark_that_may_be_from_before_counts_for_nothing_and_is_told(
    stage: DiscordStage,
) -> None:
    proposal_id, card = await seeded(stage, PROD, **DUAL)
    unheard(card, BEN, TICK)
    await goes_elsewhere(stage)
    await stage.card(proposal_id)
    await read_again(stage)
    await until(lambda: told(stage), "told")
    assert await counting(stage, proposal_id) == []

    stage.server.unreacts(BEN, card, TICK)
    await stage.quiet()
    await stage.ends()
    stage.server.reacts(BEN, card, TICK)
    await stage.begins()
    await stage.quiet()
    assert await counting(stage, proposal_id) == ["ben"], "it was seen off the card as it is"
    assert (await newest(stage, proposal_id)).found_late


async def test_a_check_mark_taken_off_before_the_card_showed_it_says_nothing_of_when_it_came_back(
    stage: DiscordStage,
) -> None:
    proposal_id, card, fault = await shows_the_old(stage)
    stage.server.reacts(BEN, card, TICK)
    await stage.ignored("stale_card")
    stage.server.unreacts(BEN, card, TICK)
    await stage.quiet()
    unheard(card, BEN, TICK)
    await shows_the_new(stage, proposal_id, fault)
    await read_again(stage)
    assert await counting(stage, proposal_id) == []
    await until(lambda: told(stage), "told")


async def test_an_approval_taken_back_from_the_card_as_it_is_and_given_in_an_absence_counts(
    stage: DiscordStage,
) -> None:
    proposal_id, card = await seeded(stage, PROD, **DUAL)
    await goes_elsewhere(stage)
    await stage.card(proposal_id)
    stage.server.reacts(BEN, card, TICK)
    await until(lambda: stage.reviews(proposal_id), "counted")
    await stage.quiet()
    stage.server.unreacts(BEN, card, TICK)
    await stage.quiet()
    assert await counting(stage, proposal_id) == []
    await stage.ends()
    stage.server.reacts(BEN, card, TICK)
    await stage.begins()
    await stage.quiet()
    assert await counting(stage, proposal_id) == ["ben"]


async def test_an_unheard_check_mark_on_a_card_posted_since_counts(stage: DiscordStage) -> None:
    proposal_id, card = await seeded(stage, PROD, **DUAL)
    await goes_elsewhere(stage)
    await stage.card(proposal_id)
    stage.server.deletes(card)
    await until(lambda: stage.server.cards() and stage.server.cards()[-1].id != card.id, "anew")
    unheard(await stage.card(proposal_id), BEN, TICK)
    await read_again(stage)
    assert await counting(stage, proposal_id) == ["ben"]


async def test_a_button_of_what_a_card_showed_before_approves_nothing(stage: DiscordStage) -> None:
    proposal_id, card, fault = await shows_the_old(stage)
    pressed = stage.server.clicks(BEN, card, "signoff:approve")
    await until(lambda: "It was judged anew" in pressed.text, "told")
    await shows_the_new(stage, proposal_id, fault)
    assert await counting(stage, proposal_id) == []
    stage.server.clicks(BEN, card, "signoff:approve")
    await until(lambda: stage.reviews(proposal_id), "counted")
    assert await counting(stage, proposal_id) == ["ben"]


async def test_a_check_mark_given_while_the_line_was_cut_counts_for_what_its_card_showed_then(
    stage: DiscordStage,
) -> None:
    proposal_id, card = await seeded(stage, PROD, **DUAL)
    gateway, shown = stage.server.gateway, list(card.data["embeds"])
    gateway.accepts = False
    gateway.cut()
    await until(lambda: not stage.surface.hearing.connected, "cut")
    stage.server.reacts(BEN, card, TICK)
    stage.clock.advance(1)
    await goes_elsewhere(stage)
    stage.broadcast.nudge()
    await until(lambda: card.data["embeds"] != shown, "the edit, which goes another way")
    gateway.accepts = True
    await until(lambda: told(stage), "told")
    assert gateway.resumed == 1
    assert await counting(stage, proposal_id) == []

    stage.server.unreacts(BEN, card, TICK)
    stage.server.reacts(BEN, card, TICK)
    await until(lambda: stage.reviews(proposal_id), "counted")
    assert await counting(stage, proposal_id) == ["ben"]
