"""Cases M10 and M11 through the whole law: who ended it, and every card shows the end."""

from __future__ import annotations

import pytest

from bot import views
from bot.chat.cards.beside import Beside
from bot.chat.cards.card import card_of
from bot.chat.showing.broadcast import Broadcast
from bot.chat.surface import SurfaceFailed
from lifecycle.answers import Sender
from lifecycle.ports import ProposalStore
from lifecycle.proposal import ActorKind
from lifecycle.tier import Tier
from tests.builders import MAIL, PROD
from tests.fakes.surface import FakeSurface
from tests.world import World

WRONG = MAIL["parameters"] | {"body": "This is your final warning"}


async def comes_to(world: World, end: str) -> None:
    """Bring p1 to one of the ends of the case, at 12:03."""
    if end in ("window closed", "rolled back by ana"):
        await world.adopts(orchestrator="nour", auto_approval_tiers=frozenset({Tier.PROPOSE}))
    base, changes = (MAIL, {}) if "deploy" not in end else (PROD, {})
    if end == "rejected by Sentinel":
        changes = {"parameters": WRONG}
    await world.submits(base, proposal_id="p1", **changes)
    await world.passes(minutes=3)
    match end:
        case "deploy approved by ana":
            await world.approves("ana", "p1", "looks right")
        case "rejected by ben":
            await world.rejects("ben", "p1", "wrong customer")
        case "expired":
            await world.passes(minutes=24 * 60)
        case "rolled back by ana":
            await world.rejects("ana", "p1", "wrong amount")
        case "window closed":
            await world.passes(minutes=12)
        case _:
            return


ENDS = [
    ("deploy approved by ana", "tool production-deploy", "tool_succeeded", "person ana", "12:03"),
    ("rejected by ben", "person ben", "rejected_by_person", "wrong customer", "12:03"),
    ("window closed", "clock clock", "window_closed_unopposed", "agent nour", "12:15"),
    ("rejected by Sentinel", "sentinel sentinel", "prohibited_content", "final warning", "12:00"),
    ("expired", "clock clock", "expired", "nothing was run", "12:03"),
    ("rolled back by ana", "person ana", "rolled_back_by_person", "wrong amount", "12:03"),
]


@pytest.mark.parametrize(("end", "by", "reason", "said", "at"), ENDS, ids=[e[0] for e in ENDS])
async def test_M10_card_and_show_name_who_when_and_why(
    world: World, end: str, by: str, reason: str, said: str, at: str
) -> None:
    await comes_to(world, end)

    ended = await world.proposal("p1")
    now_ms = world.clock.now_ms()
    reviews = await world.store.read(lambda tx: tx.reviews.of("p1"))
    card = card_of(ended, Beside(world.workflow.policy, now_ms, reviews))
    text = " ".join(str(fact) for fact in card.facts)
    shown = await world.store.read(lambda tx: views.show(tx, "p1", now_ms))
    assert str(ended.decided_by) == by
    assert ended.reason == shown["reason"] == reason
    assert f"{shown['decided_by']['kind']} {shown['decided_by']['id']}" == by
    assert at in shown["decided_at"]
    assert by in text
    assert at in text
    assert "UTC" in text
    assert said in text


class Two(Broadcast):
    """Two platforms that a stage can ask to deliver."""

    async def deliver(self, _store: ProposalStore, _now_ms: int) -> int:
        return sum([await self.delivery(name).drain() for name in self.surfaces()])


@pytest.fixture
async def surfaces(world: World) -> dict[str, FakeSurface]:
    """Show the stage's cards on two platforms."""
    made = {name: FakeSurface(name) for name in ("discord", "slack")}
    two = Two(list(made.values()))  # type: ignore[arg-type]
    world.workflow.world.notifier = two
    two.attach(world.workflow.world)
    world.notifier = two  # type: ignore[assignment]
    return made


@pytest.mark.parametrize("end", ["approved on Slack", "expired", "withdrawn"])
async def test_M11_what_ended_anywhere_is_shown_as_ended_everywhere(
    world: World, surfaces: dict[str, FakeSurface], end: str
) -> None:
    await world.submits(PROD, proposal_id="p1")
    match end:
        case "approved on Slack":
            ana = Sender("slack", ActorKind.PERSON, "ana", account="T1/UANA")
            await world.workflow.approve("p1", ana)
            await world.workflow.idle()
        case "expired":
            world.clock.advance(24 * 3600)
            await world.workflow.expire_due()
        case _:
            await world.workflow.withdraw("p1", world.sender("leila"))
    await world.shows()

    ended = await world.proposal("p1")
    for surface in surfaces.values():
        assert len(surface.posted) == 1
        last = surface.edited[-1][1]
        assert last.final
        assert last.version == ended.version
        assert (last.react, last.commands) == ("", ())


async def test_M11_an_edit_that_failed_is_made_later_and_the_other_platform_waits_for_nobody(
    world: World, surfaces: dict[str, FakeSurface]
) -> None:
    await world.submits(PROD, proposal_id="p1")
    surfaces["discord"].failures.append(SurfaceFailed("500"))
    await world.workflow.withdraw("p1", world.sender("leila"))
    await world.shows()
    assert surfaces["slack"].edited[-1][1].final
    assert surfaces["discord"].edited == []

    await world.passes(seconds=60)

    assert surfaces["discord"].edited[-1][1].final


async def test_M11_a_final_card_that_was_deleted_ends_the_trying(
    world: World, surfaces: dict[str, FakeSurface]
) -> None:
    await world.submits(PROD, proposal_id="p1")
    surfaces["discord"].gone.add("m1")
    await world.workflow.withdraw("p1", world.sender("leila"))
    for _ in range(3):
        await world.passes(seconds=60)

    assert len(surfaces["discord"].posted) == 1
    stale = await world.store.read(lambda tx: tx.cards.stale("discord", 2**62, 10))
    assert list(stale) == []
