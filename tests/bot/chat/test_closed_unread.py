"""A window that closed by one surface while the other was deaf: a ❌ there is told of."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial

from bot.chat.closed_unread import ClosedUnread
from bot.storage.memory import MemoryStore
from lifecycle.ports import Transaction
from lifecycle.records import Card
from tests.bot.chat.discord.standing import unheard
from tests.bot.chat.test_two_surfaces import Two
from tests.bot.chat.test_two_surfaces import discord_server as discord_server
from tests.bot.chat.test_two_surfaces import two as two
from tests.builders import MAIL
from tests.fakes.discord_stage import BEN, CAL, CROSS, until
from tests.world import a_world

WORDS = "p1 (send-email) was closed, and a ❌ by person ben was found on discord after that"


async def closes_while_discord_is_deaf(two: Two, *who: str) -> Callable[[], None]:
    """Let people put a ❌ on Discord meanwhile; return what lets Discord hear again."""
    proposal_id = await two.proposes(MAIL)
    on_slack = await until(lambda: two.slack_card(proposal_id), "the card on Slack")
    await two.quiet()
    assert two.slack_server is not None
    await two.slack_server.reacts("UANA", on_slack.ts)
    await two.reaches(proposal_id, "executing")
    unread = two.server.fails("GET", "/messages/", status=403, times=None)
    for person in who:
        unheard(two.server.cards()[0], person, CROSS)
    two.server.gateway.forgets_sessions = True
    two.server.gateway.cut()
    await until(lambda: two.surface.hearing.gap, "the loss")
    two.clock.advance(900)

    async def closed() -> bool:
        return (await two.proposal(proposal_id)).terminal

    await until(keeping_house(two, closed), "closed")

    def hears() -> None:
        unread.times = 0

    return hears


def keeping_house(
    two: Two, condition: Callable[[], Awaitable[bool]]
) -> Callable[[], Awaitable[bool]]:
    async def kept() -> bool:
        two.clock.advance(5)
        await two.keeps_house()
        return await condition()

    return kept


def put(card: Card, tx: Transaction) -> None:
    tx.cards.put(card)


async def announced(two: Two) -> list[str]:
    assert two.slack_server is not None
    return [each.text for each in two.slack_server.workspace.messages if WORDS in each.text]


async def test_a_stop_that_is_found_after_the_window_closed_elsewhere_is_told_once(
    two: Two,
) -> None:
    hears = await closes_while_discord_is_deaf(two, BEN, CAL)
    assert two.tool("send-email").verbs() == ["execute", "commit"]
    hears()
    await until(lambda: two.surface.hearing.connected, "Discord")

    async def told() -> bool:
        return bool(await announced(two))

    await until(keeping_house(two, told), "told")
    for _ in range(3):
        await two.broadcast.catch_up()
    assert len(await announced(two)) == 1
    (row,) = await two.audit("ignored", "window_closed")  # cal may stop nothing
    assert (row["surface"], row["actor"]["id"]) == ("discord", "ben")
    assert row["details"]["found_late"] is True
    assert two.tool("send-email").verbs() == ["execute", "commit"]


async def test_it_is_looked_for_also_by_the_next_process(two: Two) -> None:
    hears = await closes_while_discord_is_deaf(two, BEN)
    await two.ends()
    hears()
    await two.begins()

    async def told() -> bool:
        return bool(await announced(two))

    await until(keeping_house(two, told), "told")


async def test_what_was_read_is_read_no_more_and_what_could_not_be_comes_after_the_others() -> None:
    world, read = a_world(MemoryStore()), list[str]()
    cards = [
        Card(f"p{number}", "discord", 1, message_ids=(f"m{number}",)) for number in range(1, 6)
    ]
    for card in cards:
        await world.submits(parameters=MAIL["parameters"] | {"subject": card.proposal_id})
        await world.store.write(partial(put, card))
        await world.rejects("ben", card.proposal_id)
    unread = ClosedUnread(world.workflow.world)
    await unread.note(cards)

    async def reads(card: Card) -> bool:
        read.append(card.proposal_id)
        return card.proposal_id != "p1" or read.count("p1") > 1

    for surfaces in ({"slack"}, {"discord"}, {"discord"}, {"discord"}):
        await unread.read(surfaces, reads)
        world.clock.advance(60)
    assert read == ["p1", "p2", "p3", "p4", "p5", "p1"]
