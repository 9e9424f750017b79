"""In a flood people are answered first, and what others want shown does not come last."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.builders import MAIL, PROD
from tests.fakes.discord_server.faults import Bucket, Fault
from tests.fakes.discord_server.state import BOT, CHANNEL, Message
from tests.fakes.discord_stage import ANA, BEN, CAL, CROSS, LEILA, NOUR, TICK, DiscordStage, until
from tests.roomy import a_roomy_policy

FLOOD = 30
POSTS = "/channels/701/messages$"


def messages(stage: DiscordStage) -> list[Message]:
    return list(stage.server.state.messages[CHANNEL].values())


def posted(stage: DiscordStage, start: int = 0) -> list[Message]:
    """Return what the bot posted after `start`, oldest first, the board left out."""
    return [
        each
        for each in messages(stage)[start:]
        if each.data["author"]["id"] == BOT and not each.data["pinned"]
    ]


async def stored(stage: DiscordStage, proposal_ids: list[str]) -> None:
    """Wait until these proposals are stored and judged."""

    async def all_of_them() -> bool:
        rows = await stage.store.read(lambda tx: [tx.proposals.get(each) for each in proposal_ids])
        return all(row is not None and row.verdict is not None for row in rows)

    await until(all_of_them, "stored")


async def roomy(stage: DiscordStage) -> None:
    """Begin with nobody near a limit, and with a board that stands."""
    stage.policy = a_roomy_policy()
    await stage.begins()
    await until(lambda: any(m.data["pinned"] for m in messages(stage)), "the board")


async def flooded(stage: DiscordStage) -> tuple[asyncio.Event, Fault]:
    """Let leila propose much while Discord takes no post; nour proposes once after her."""
    await roomy(stage)
    gate = asyncio.Event()
    held = stage.server.fails("POST", POSTS, gate=gate, times=None)
    ids = [
        stage.sends(parameters={**MAIL["parameters"], "subject": f"Invoice {number}"})
        for number in range(FLOOD)
    ]
    await stored(stage, ids)
    stage.sends(PROD, bot=NOUR, proposal_id="nours")
    await stored(stage, ["nours"])
    return gate, held


async def test_N03_a_person_is_answered_first_and_another_agents_card_comes_at_once(
    unstarted: DiscordStage,
) -> None:
    stage = unstarted
    gate, held = await flooded(stage)
    stage.server.says(ANA, "!nonsense")
    await stage.ignored("unknown_command")
    start, held.times = len(messages(stage)), 0
    gate.set()
    card = await stage.card("nours")
    await until(lambda: len(stage.answers()) == FLOOD + 1, "every answer")

    order = posted(stage, start)
    (answer,) = [m for m in order if "There is no command" in m.data["content"]]
    assert order.index(answer) < 4, "two were on their way already"
    assert [m.id for m in order].index(card.id) < 10
    theirs = next(m for m in order if '"nours"' in m.data["content"])
    assert order.index(theirs) < 10, "the other agent's answer does not wait for the flood either"


async def test_what_a_stop_did_is_shown_although_no_post_is_taken(
    unstarted: DiscordStage,
) -> None:
    stage = unstarted
    stage.server.bucket = Bucket(5, 0.2)
    await roomy(stage)
    proposal_id = await stage.proposes(PROD)
    card = await stage.card(proposal_id)
    await stage.quiet()
    gate = asyncio.Event()
    held = stage.server.fails("POST", POSTS, gate=gate, times=None)
    for number in range(FLOOD):
        stage.sends(parameters={**MAIL["parameters"], "subject": f"Invoice {number}"})
    await until(lambda: held.seen, "a post is held")
    stage.server.reacts(BEN, card, CROSS)
    await stage.reaches(proposal_id, "rejected")
    first = len(stage.server.called("PATCH", f"/messages/{card.id}$"))
    held.times = 0
    start = len(posted(stage))
    gate.set()
    await until(
        lambda: len(stage.server.called("PATCH", f"/messages/{card.id}$")) > first, "the edit"
    )
    assert len(posted(stage)) - start < FLOOD // 2


@pytest.mark.parametrize("count", [1, 2])
async def test_posts_that_are_never_answered_hold_up_nothing_else_for_good(
    unstarted: DiscordStage, monkeypatch: pytest.MonkeyPatch, count: int
) -> None:
    stage = unstarted
    stage.server.bucket = Bucket(5, 0.1)
    await roomy(stage)
    monkeypatch.setattr("bot.chat.discord.calls.ANSWERED_S", 0.3)
    gate = asyncio.Event()
    stage.server.fails("POST", POSTS, gate=gate, times=count, says="PROPOSAL")
    hung = [
        stage.sends(PROD, bot=LEILA, parameters={"version": f"v{number}"})
        for number in range(count)
    ]
    await stored(stage, hung)
    stage.server.says(ANA, "!nonsense")
    await until(lambda: any("There is no command" in said for said in stage.server.said()), "told")
    await stage.proposes(PROD, bot=NOUR, parameters={"version": "v7"})
    gate.set()

    async def all_shown() -> bool:
        await stage.passes(seconds=2)
        shown = [_named(card) for card in stage.server.cards()]
        return all(shown.count(each) == 1 for each in hung)

    await until(all_shown, "each card once")


def _named(card: Message) -> Any:
    return card.data["embeds"][0]["footer"]["text"].split(" ")[0]


async def test_emoji_that_wait_to_be_taken_off_take_no_place_of_what_others_are_told(
    discord_stage: DiscordStage, caplog: pytest.LogCaptureFixture
) -> None:
    """A thousand things may wait to be said and done beside the work, and a hundred of one."""
    server, gate = discord_stage.server, asyncio.Event()
    proposal_id = await discord_stage.proposes(PROD, bot=ANA)
    card = await discord_stage.card(proposal_id)
    server.fails("DELETE", "/reactions/", gate=gate, times=None)
    event = server.reactions._reaction_event(CHANNEL, card, CAL, TICK, 0)
    for _ in range(103):
        server.gateway.dispatch("MESSAGE_REACTION_ADD", event)
        server.gateway.dispatch("MESSAGE_REACTION_REMOVE", event)
    await discord_stage.ignored("not_a_reviewer", 103)
    assert "a note is left unsaid" in caplog.text
    server.reacts(ANA, card, TICK)
    await until(lambda: [text for text in server.said() if text.startswith("ana:")], "told")
    gate.set()
