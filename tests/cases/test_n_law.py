"""Cases N03, N05 and N06 through the whole law: floods, what the trail keeps, what people read."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from lifecycle.answers import CardPlace, Sender
from lifecycle.audit import broken_links
from lifecycle.proposal import ActorKind
from tests.builders import MAIL, PROD, a_document
from tests.roomy import a_roomy_policy
from tests.world import World


async def a_mail(world: World, number: int, by: str = "leila") -> Any:
    parameters = MAIL["parameters"] | {"subject": f"Invoice {number}"}
    return await world.submits(MAIL, by=by, parameters=parameters)


async def notices(world: World) -> list[str]:
    told = await world.store.read(lambda tx: tx.outbox.waiting("terminal", 2**62, 1000))
    return [
        str(m.body["text"]) for m in told if m.kind == "announcement" and "leila" in str(m.body)
    ]


async def cards_of_leila(world: World) -> int:
    """Return how many cards of leila's stand on the surface."""
    ids = await world.store.read(lambda tx: tx.proposals.ids_after("", 1000))
    found = [await world.store.read(lambda tx, i=i: tx.cards.get(i, "terminal")) for i in ids]
    actors = [(await world.proposal(card.proposal_id)).actor.id for card in found if card]
    return actors.count("leila")


async def test_a_mistake_is_no_flood_and_nobody_is_told(world: World) -> None:
    refused = await world.submits(MAIL, action_type="delete")

    assert refused.state is None
    assert len(await world.audit("refused")) == 1
    assert await notices(world) == []


@pytest.mark.parametrize("by_rate", [False, True], ids=["open limit", "rate"])
async def test_N03_a_looping_agent_is_stopped_at_its_limit_and_others_are_not(
    world: World, by_rate: bool
) -> None:
    if not by_rate:
        generous = a_roomy_policy()
        await world.adopts(tools=generous.tools, limits=generous.limits)
    answers = []
    for number in range(200):
        answers.append(await a_mail(world, number))
        world.clock.advance(0.25)
    nours = await a_mail(world, 1, by="nour")

    limit = world.workflow.policy.agents["leila"].open_limit
    refused = [answer for answer in answers if answer.state is None]
    opened = await world.store.read(lambda tx: tx.proposals.count_open("leila"))
    assert opened == limit == 10
    assert len(refused) == 200 - limit
    assert {answer.reason for answer in refused} == {"rate_limited" if by_rate else "too_many_open"}
    assert all(answer.as_json()["retry"] == "later" for answer in refused)
    assert all((answer.retry_after_s or 0) > 0 for answer in refused)
    assert len(await world.audit("refused")) == len(refused)
    assert await cards_of_leila(world) == limit
    (notice,) = await notices(world)
    assert notice.startswith("leila proposes more than it may, and the rest is refused: ")
    card = await world.store.read(lambda tx: tx.cards.get(nours.proposal_id or "", "terminal"))
    assert card is not None
    assert card.delivered


async def test_N03_room_is_there_again_once_something_is_decided(world: World) -> None:
    agents = dict(world.workflow.policy.agents)
    agents["leila"] = replace(agents["leila"], open_limit=1)
    await world.adopts(agents=agents)
    first = await a_mail(world, 1)
    assert (await a_mail(world, 2)).reason == "too_many_open"

    await world.rejects("ana", first.proposal_id or "")

    assert (await a_mail(world, 3)).state == "sentinel_approved"


CLOSED = re.compile(r"[0-9a-f]{64}")


async def submitted(world: World, base: dict[str, Any], proposal_id: str) -> None:
    raw = json.dumps(a_document(base, proposal_id=proposal_id)).encode()
    await world.workflow.submit(raw, world.sender("leila", f"event-{proposal_id}"))
    await world.shows()


async def lives(world: World) -> None:
    """One full life of MAIL and of PROD, with an ignored attempt by cal and one by a bot."""
    await submitted(world, MAIL, "mail")
    await submitted(world, PROD, "prod")
    place = CardPlace("terminal", "m-mail")
    cal = world.sender("cal", "event-cal")
    bot = Sender("discord", None, None, account="999", event_id="event-bot")
    ana = replace(world.sender("ana", "event-ana"), surface="terminal")
    await world.workflow.approve("mail", cal, card=place)
    await world.workflow.approve("prod", bot)
    await world.workflow.approve("mail", ana, card=place)
    await world.workflow.idle()
    await world.workflow.approve("prod", world.sender("ben", "event-ben"))
    await world.workflow.idle()
    await world.passes(minutes=15)


async def test_N05_every_row_says_when_what_who_where_and_under_which_policy(
    world: World,
) -> None:
    await lives(world)

    rows = await world.store.read(lambda tx: tx.audit.exported(0, 1000))
    assert broken_links(rows) == []
    for row in rows:
        assert re.fullmatch(r"2026-03-02T12:\d\d:\d\d\.\d{3}Z", row["at"])
        assert row["policy_digest"] == world.workflow.policy.digest
        assert CLOSED.fullmatch(row["entry_hash"])
        if row["proposal_id"] is not None:
            proposal = await world.proposal(row["proposal_id"])
            assert row["digest"] == proposal.digest
    moves = [
        (r["proposal_id"], r["from"], r["to"], r["actor"]["kind"], r["actor"]["id"])
        for r in rows
        if r["to"] is not None
    ]
    assert moves == [
        ("mail", None, "pending", "agent", "leila"),
        ("mail", "pending", "sentinel_approved", "sentinel", "sentinel"),
        ("prod", None, "pending", "agent", "leila"),
        ("prod", "pending", "sentinel_approved", "sentinel", "sentinel"),
        ("mail", "sentinel_approved", "executing", "person", "ana"),
        ("prod", "sentinel_approved", "executing", "person", "ben"),
        ("prod", "executing", "completed", "tool", "production-deploy"),
        ("mail", "executing", "completed", "clock", "clock"),
    ]


def told_of(row: Mapping[str, Any]) -> tuple[Any, ...]:
    keys = ("kind", "proposal_id", "from", "to")
    who = row["actor"]["id"] if row["actor"] else None
    return (*(row[key] for key in keys), who, row["surface"], row["event_id"])


async def acts_in(world: World) -> list[tuple[Any, ...]]:
    """What somebody did on a surface, not what came of it later; each under the right digest."""
    kinds = ("submitted", "ignored", "reviewed", "approval_taken_back", "stopped", "reject")
    exported = await world.store.read(lambda tx: tx.audit.exported(0, 1000))
    rows = [row for row in exported if row["kind"] in kinds]
    for row in rows:
        assert row["digest"] == (await world.proposal(row["proposal_id"])).digest
    return [told_of(row) for row in rows]


async def test_N05_what_somebody_did_says_from_where_and_by_which_event(world: World) -> None:
    await lives(world)

    assert await acts_in(world) == [
        ("submitted", "mail", None, "pending", "leila", "terminal", "event-mail"),
        ("submitted", "prod", None, "pending", "leila", "terminal", "event-prod"),
        ("ignored", "mail", None, None, "cal", "terminal", "event-cal"),
        ("ignored", "prod", None, None, None, "discord", "event-bot"),
        ("reviewed", "mail", None, None, "ana", "terminal", "event-ana"),
        ("reviewed", "prod", None, None, "ben", "terminal", "event-ben"),
    ]


async def test_N05_who_stops_something_is_told_of_with_place_and_event(world: World) -> None:
    verbs, by = world.workflow, world.sender
    await submitted(world, MAIL, "mail")
    await submitted(world, PROD | {"approval_class": "dual"}, "dual")
    await verbs.approve("mail", by("ben", "event-1"))
    await verbs.idle()
    await verbs.reject("mail", by("ana", "event-2"), "not this one")
    await verbs.idle()
    await verbs.approve("dual", by("ben", "event-3"))
    await verbs.take_back("dual", by("ben", "event-4"))
    await verbs.reject("dual", by("ana", "event-5"), "not now")

    assert (await acts_in(world))[2:] == [
        ("reviewed", "mail", None, None, "ben", "terminal", "event-1"),
        ("stopped", "mail", None, None, "ana", "terminal", "event-2"),
        ("reviewed", "dual", None, None, "ben", "terminal", "event-3"),
        ("approval_taken_back", "dual", None, None, "ben", "terminal", "event-4"),
        ("reject", "dual", "sentinel_approved", "rejected", "ana", "terminal", "event-5"),
    ]


async def test_N05_an_attempt_without_effect_has_a_row_with_its_author_and_event(
    world: World,
) -> None:
    await lives(world)

    rows = [
        (r["proposal_id"], r["actor"], r["surface"], r["event_id"], r["reason"])
        for r in await world.audit("ignored")
    ]
    assert rows == [
        ("mail", {"kind": "person", "id": "cal"}, "terminal", "event-cal", "not_a_reviewer"),
        ("prod", None, "discord", "event-bot", "not_a_reviewer"),
    ]
    accounts = [row["details"]["account"] for row in await world.audit("ignored")]
    assert accounts == ["cal", "999"]


async def test_N05_a_decision_keeps_its_event_and_is_heard_once(world: World) -> None:
    await lives(world)
    ana = world.sender("ana", "event-ana")

    again = await world.workflow.reject("mail", ana, "once more")

    (reviewed,) = [r for r in await world.audit("reviewed") if r["proposal_id"] == "mail"]
    assert (reviewed["event_id"], reviewed["surface"]) == ("event-ana", "terminal")
    assert again.code == "duplicate_event"


INSIDE = re.compile(r"Traceback|Error\b|Exception|0x[0-9a-f]{6}|\.py\b|sqlite|lifecycle\.")


@pytest.mark.parametrize("verb", ["approve", "reject", "take_back", "withdraw", "retry"])
@pytest.mark.parametrize("given", ["nope", "", "p1 p2", "'; DROP TABLE", "x" * 5000, "p\udc80"])
async def test_N06_an_id_that_nobody_knows_is_answered_with_the_next_step(
    world: World, verb: str, given: str
) -> None:
    await world.submits(PROD, proposal_id="p1")

    reply = await getattr(world.workflow, verb)(given, world.sender("ana"))

    assert reply.code == "unknown_proposal"
    assert "pending" in reply.words
    assert not INSIDE.search(reply.words)
    assert len(reply.words) < 300
    assert "p1" not in reply.words.replace("p1 p2", "")


@pytest.mark.parametrize(
    "verb", ["approve", "reject", "take_back", "withdraw", "retry", "settle", "give_reason"]
)
async def test_N06_a_second_time_is_answered_in_plain_words(world: World, verb: str) -> None:
    await world.submits(PROD, proposal_id="p1")
    await world.approves("ana", "p1")
    more: tuple[Any, ...] = {"settle": (True,), "give_reason": ("why",)}.get(verb, ())
    who = "leila" if verb == "withdraw" else "ben"

    replies = [
        await getattr(world.workflow, verb)("p1", world.sender(who), *more) for _ in range(2)
    ]

    for reply in replies:
        assert not reply.done
        assert not INSIDE.search(reply.words)
        assert reply.words.endswith(".")
    assert replies[0] == replies[1]


async def test_N06_a_stranger_is_told_nothing_about_others(world: World) -> None:
    await world.submits(PROD, proposal_id="p1")
    stranger = Sender("discord", ActorKind.AGENT, None, account="999")

    reply = await world.workflow.approve("p1", stranger)

    assert reply.code == "not_a_reviewer"
    assert "leila" not in reply.words
    assert "ana" not in reply.words.replace("anything", "").split()


async def test_N06_what_cannot_be_written_anywhere_is_unknown_at_every_door(world: World) -> None:
    leila, ana, odd = world.sender("leila"), world.sender("ana"), "p\udc80"

    replies = [
        await world.workflow.report(odd, leila, "done", {}),
        await world.workflow.redeem(odd, {}, leila),
        await world.workflow.settle(odd, ana, True),
        await world.workflow.give_reason(odd, ana, odd),
        await world.workflow.answer_question(odd, ana, odd),
    ]

    assert not any(reply.done for reply in replies)
    assert not any(INSIDE.search(reply.words) for reply in replies)


async def test_N03_a_flood_over_the_full_hour_is_one_notice(world: World) -> None:
    world.clock.advance(59 * 60 + 30)
    for number in range(200):
        await a_mail(world, number)
        world.clock.advance(0.25)

    assert len(await notices(world)) == 1
