"""A window that closed by one surface while the other was deaf: a ❌ there is told of."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial

import discord
import pytest

from bot.chat.hearing.closed_unread import ClosedUnread
from bot.chat.hearing.others import WAITED_MS
from bot.storage.memory import MemoryStore
from lifecycle.ports import Transaction
from lifecycle.proposal import Outcome
from lifecycle.records import Card
from lifecycle.tier import Tier
from tests.bot.chat.discord.standing import unheard
from tests.bot.chat.test_two_surfaces import Two
from tests.bot.chat.test_two_surfaces import discord_server as discord_server
from tests.bot.chat.test_two_surfaces import two as two
from tests.builders import MAIL, a_policy
from tests.fakes.discord_stage import BEN, CAL, CROSS, until
from tests.roads import adopted
from tests.roomy import a_roomy_policy
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
    hears = await discord_falls_deaf(two, *who)
    two.clock.advance(900)
    await until(keeping_house(two, partial(ended, two, proposal_id)), "closed")
    return hears


async def discord_falls_deaf(two: Two, *who: str) -> Callable[[], None]:
    """Let nothing of Discord be heard or read, and people put a ❌ there."""
    unread = two.server.fails("GET", "/messages/", status=403, times=None)
    for person in who:
        unheard(two.server.cards()[0], person, CROSS)
    two.server.gateway.forgets_sessions = True
    two.server.gateway.cut()
    await until(lambda: two.surface.hearing.gap, "the loss")

    def hears() -> None:
        unread.times = 0

    return hears


async def ended(two: Two, proposal_id: str) -> bool:
    return (await two.proposal(proposal_id)).terminal


async def ran_and_shown(two: Two, proposal_id: str) -> bool:
    """Say whether its tool has run, and Slack's card shows that."""
    proposal = await two.proposal(proposal_id)
    card = await two.store.read(lambda tx: tx.cards.get(proposal_id, "slack"))
    ran = proposal.execution is not None and proposal.execution.outcome is Outcome.DONE
    return ran and card is not None and card.shown_version == proposal.version


async def noted(two: Two) -> bool:
    return bool(await two.store.read(lambda tx: tx.flags.get("closed_unread")))


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


@pytest.fixture
def five_seconds_by_our_clock(two: Two, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let discord.py, which waits so long before it identifies anew, wait by the stage's clock."""

    async def waited(*_: object, **__: object) -> None:
        two.clock.advance(5)

    monkeypatch.setattr(discord.Client, "before_identify_hook", waited)


@pytest.mark.usefixtures("five_seconds_by_our_clock")
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


async def opens_by_itself(two: Two) -> None:
    """Let what is PROPOSE open in the orchestrator's name: a person's ✅ ends its window early."""
    opened = {"orchestrator": "nour", "auto_approval_tiers": frozenset({Tier.PROPOSE})}
    await adopted(two.workflow, a_policy(**opened), two.workflow.world.law.sentinel)


async def test_a_stop_is_told_of_that_stood_unheard_when_a_check_mark_closed_the_window_early(
    two: Two,
) -> None:
    await opens_by_itself(two)
    proposal_id = await two.proposes(MAIL)
    on_slack = await until(lambda: two.slack_card(proposal_id), "the card on Slack")
    await two.reaches(proposal_id, "executing")
    await until(partial(ran_and_shown, two, proposal_id), "what may be closed early")
    await two.quiet()
    hears = await discord_falls_deaf(two, BEN)
    assert two.slack_server is not None
    await two.slack_server.reacts("UANA", on_slack.ts)
    await until(partial(noted, two), "waited for Discord")
    two.clock.advance(WAITED_MS // 1000)
    await until(partial(ended, two, proposal_id), "closed early")
    assert (await two.proposal(proposal_id)).reason == "approved_early"
    hears()

    async def told() -> bool:
        return bool(await announced(two))

    await until(keeping_house(two, told), "told")


async def test_a_stop_is_told_of_that_stood_on_a_card_nobody_had_found_when_its_window_closed(
    two: Two, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The answer to its post was lost, and Discord did not say where it stands."""
    monkeypatch.setattr("bot.chat.discord.reactions._EARLY_S", (0.01,))
    two.server.fails("POST", "/channels/701/messages$", acts=True, says="PROPOSAL", times=1)
    unread = two.server.fails("GET", "/channels/701/messages$", status=500, times=None)
    proposal_id = two.sends(MAIL)
    await until(two.server.cards, "posted, its answer lost")
    on_slack = await until(lambda: two.slack_card(proposal_id), "the card on Slack")
    assert two.slack_server is not None
    await two.slack_server.reacts("UANA", on_slack.ts)
    await two.reaches(proposal_id, "executing")
    unheard(two.server.cards()[0], BEN, CROSS)
    two.clock.advance(900)
    await until(keeping_house(two, partial(ended, two, proposal_id)), "closed")
    assert two.tool("send-email").verbs() == ["execute", "commit"]
    unread.times = 0

    async def told() -> bool:
        two.broadcast.nudge()
        return bool(await announced(two))

    await until(keeping_house(two, told), "told")


async def test_what_waits_for_approval_is_not_noted_as_closed_unread() -> None:
    world = a_world(MemoryStore())
    await world.submits()
    unread, card = ClosedUnread(world.workflow.world), Card("p1", "discord", 1, message_ids=("m1",))

    await unread.note([card])

    assert not await world.store.read(lambda tx: tx.flags.get("closed_unread"))


async def test_it_is_looked_for_also_by_the_next_process(two: Two) -> None:
    hears = await closes_while_discord_is_deaf(two, BEN)
    await two.ends()
    hears()
    await two.begins()

    async def told() -> bool:
        return bool(await announced(two))

    await until(keeping_house(two, told), "told")


class Kept:
    """Cards of proposals that have ended, noted as unread; `unreadable` are not read yet."""

    def __init__(self) -> None:
        self.world = a_world(MemoryStore(), a_roomy_policy())
        self.unread = ClosedUnread(self.world.workflow.world)
        self.unreadable = set[str]()
        self.asked = list[str]()

    async def of(self, count: int) -> None:
        cards = [Card(f"p{n + 1}", "discord", 1, message_ids=(f"m{n}",)) for n in range(count)]
        for card in cards:
            await self.world.submits(parameters=MAIL["parameters"] | {"subject": card.proposal_id})
            await self.world.store.write(partial(put, card))
            await self.world.rejects("ben", card.proposal_id)
        await self.unread.note(cards)

    async def rounds(self, seconds: int, *surfaces: str) -> list[str]:
        """Let time pass; return which cards were asked for."""
        start = len(self.asked)
        for _ in range(0, seconds, 5):
            await self.unread.read(surfaces, self._read)
            self.world.clock.advance(5)
        return self.asked[start:]

    async def _read(self, card: Card) -> bool:
        self.asked.append(card.proposal_id)
        return card.proposal_id not in self.unreadable


async def test_what_was_read_is_read_no_more_and_what_could_not_be_comes_after_the_others() -> None:
    kept = Kept()
    await kept.of(3)
    kept.unreadable = {"p1"}

    assert await kept.rounds(10, "slack") == []
    assert await kept.rounds(5, "discord") == ["p1"]
    assert await kept.rounds(15, "discord") == [], "a pause after what could not be read"
    assert await kept.rounds(15, "discord") == ["p2", "p3", "p1"]
    kept.unreadable.clear()
    assert await kept.rounds(60, "discord") == ["p1"]


async def test_what_is_read_late_leaves_most_of_what_a_platform_lets_be_read_for_what_is_open() -> (
    None
):
    kept = Kept()
    await kept.of(20)

    asked = await kept.rounds(60, "discord")

    assert len(asked) == len(set(asked)) == 12
