"""What is told once, and when: reminders, heads, questions, refusals, and words that follow."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest

from lifecycle.tier import Tier
from tests.builders import DAY_MS, MAIL, NOW_MS, PROD, a_document
from tests.world import World

PROPOSE = frozenset({Tier.PROPOSE})


async def announced(world: World, begin: str) -> list[tuple[str, str]]:
    """The announcements that begin so, by surface."""
    found = []
    for surface in world.notifier.names:
        told = await world.store.read(lambda tx, s=surface: tx.outbox.waiting(s, 2**62, 1000))
        texts = (str(each.body.get("text", "")) for each in told if each.kind == "announcement")
        found += [(surface, text) for text in texts if text.startswith(begin)]
    return found


# -- reminders ----------------------------------------------------------------------------


async def test_people_are_reminded_once_when_a_quarter_of_the_time_is_left(world: World) -> None:
    await world.submits(PROD, proposal_id="waits")

    await world.passes(minutes=18 * 60 - 1)
    early = await announced(world, "waits ")
    await world.passes(minutes=1)
    (reminder,) = await announced(world, "waits ")
    version = (await world.proposal("waits")).version
    for _ in range(3):
        await world.passes(minutes=60)

    assert early == []
    assert reminder[1].startswith("waits (production-deploy) still waits for people, until 2026-")
    assert await announced(world, "waits ") == [reminder]
    assert (await world.trail("waits")).count("reminded") == 1
    assert (await world.proposal("waits")).version == version


async def test_a_reminder_outlives_a_restart(world: World) -> None:
    await world.submits(PROD, proposal_id="waits")
    await world.passes(minutes=18 * 60)

    await world.restarts()
    await world.keeps_house()

    assert (await world.trail("waits")).count("reminded") == 1


async def test_nobody_is_reminded_of_what_needs_no_word_of_theirs(world: World) -> None:
    await world.workflow.freeze("incident", world.sender("ana"))
    await world.submits(PROD, proposal_id="approved")
    await world.approves("ana", "approved")
    await world.submits(MAIL, proposal_id="refused")
    await world.rejects("ben", "refused")

    await world.passes(minutes=20 * 60)

    assert await announced(world, "approved ") == await announced(world, "refused ") == []


# -- the head of the trail ----------------------------------------------------------------


async def test_the_head_goes_to_every_surface_once_a_day(world: World) -> None:
    world.notifier.names = ("terminal", "discord")
    await world.submits(MAIL)

    counts = [await world.workflow.anchor() for _ in range(3)]
    await world.restarts()
    counts.append(await world.workflow.anchor())

    assert counts == [1, 0, 0, 0]
    (terminal, discord) = await announced(world, "Audit head: entry ")
    assert [terminal[0], discord[0]] == ["terminal", "discord"]
    assert terminal[1] == discord[1]
    _, _, entry, head = terminal[1].replace(",", "").rsplit(maxsplit=3)
    assert head in {each["entry_hash"] for each in await every_entry(world)}
    assert (await every_entry(world))[int(entry) - 1]["entry_hash"] == head

    world.clock.advance((DAY_MS - NOW_MS % DAY_MS) / 1000)  # midnight, UTC
    assert [await world.workflow.anchor() for _ in range(2)] == [1, 0]
    assert len(await announced(world, "Audit head: entry ")) == 4


async def every_entry(world: World) -> list[dict[str, object]]:
    return [dict(entry) for entry in await world.store.read(lambda tx: tx.audit.exported(0, 999))]


# -- an agent that is asked to say more ---------------------------------------------------


async def test_its_owner_hears_of_each_question_and_of_no_check(world: World) -> None:
    asked = await world.submits(MAIL, proposal_id="first", justification="because")
    check = a_document(MAIL, justification="because")
    await world.workflow.check(json.dumps(check).encode(), world.sender("leila"))
    await world.submits(MAIL, by="nour", justification="because")  # nobody owns nour

    assert (asked.outcome, asked.proposal_id, asked.retry_after_s) == ("ask", None, None)
    notes = await world.store.read(lambda tx: tx.outbox.waiting("terminal", 2**62, 100))
    assert [(note.recipient, note.body["text"]) for note in notes if note.kind == "note"] == [
        (
            "olga",
            "leila wanted to use send-email and was asked to say more: " + asked.explanation,
        )
    ]
    again = await world.submits(MAIL, proposal_id="first")
    assert (again.state, again.proposal_id) == ("sentinel_approved", "first")


async def test_a_flood_of_what_is_only_asked_about_is_told_once_a_minute_for_each_tool(
    world: World,
) -> None:
    """It uses up no rate, and a note for each kept every announcement waiting."""

    async def asks(base: dict[str, Any]) -> None:
        for _ in range(30):
            assert (await world.submits(base, justification="because")).outcome == "ask"

    async def told() -> list[str]:
        notes = await world.store.read(lambda tx: tx.outbox.waiting("terminal", 2**62, 1000))
        return [str(note.body["text"]).split(" and ")[0] for note in notes if note.kind == "note"]

    mail, deploy = "leila wanted to use send-email", "leila wanted to use staging-deploy"
    await asks(MAIL)
    await asks(PROD | {"tool": "staging-deploy"})
    assert await told() == [mail, deploy]

    world.clock.advance(60)
    await asks(MAIL)
    assert await told() == [mail, deploy, mail]
    assert len(await world.audit("refused")) == 90


# -- what people refused ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "told"),
    [("not this way", "not this way"), ("", "Rejected by the orchestrator nour.")],
)
async def test_a_refusal_by_the_orchestrator_binds_nobody(
    world: World, words: str, told: str
) -> None:
    await world.adopts(orchestrator="nour")
    first = await world.submits(MAIL, proposal_id="first")

    reply = await world.workflow.reject("first", world.sender("nour"), words)

    ended = await world.proposal("first")
    assert reply.done
    assert ended.explanation == told
    assert (ended.state, ended.reason) == ("rejected", "rejected_by_orchestrator")
    again = await world.submits(MAIL, proposal_id="again")
    assert (again.state, again.deduplicated) == (first.state, False)
    assert not (await world.proposal("again")).resembles_refused


async def test_the_orchestrator_neither_opens_nor_refuses_what_needs_people(world: World) -> None:
    await world.adopts(orchestrator="nour", auto_approval_tiers=PROPOSE)
    await world.submits(PROD, proposal_id="confirm")
    await world.submits(MAIL, proposal_id="dual", approval_class="dual")

    for proposal_id in ("confirm", "dual"):
        opened = await world.workflow.approve(proposal_id, world.sender("nour"))
        assert opened.code == "not_auto_approvable"
    refused = await world.workflow.reject("confirm", world.sender("nour"), "no")
    assert refused.code == "not_a_reviewer"
    assert (await world.proposal("confirm")).state == "sentinel_approved"


async def test_for_a_day_a_card_says_that_people_refused_something_like_it(world: World) -> None:
    await world.submits(MAIL, proposal_id="first")
    await world.rejects("ana", "first")
    other = MAIL["parameters"] | {"subject": "Something else"}

    world.clock.advance(DAY_MS / 1000 - 1)
    await world.submits(MAIL, proposal_id="like", parameters=other)
    await world.submits(PROD, proposal_id="unlike")
    await world.submits(MAIL, by="nour", proposal_id="another", parameters=other)
    world.clock.advance(2)
    await world.submits(MAIL, proposal_id="later", parameters=other | {"body": "Hello again"})

    found = {
        each: (await world.proposal(each)).resembles_refused
        for each in ("like", "unlike", "another", "later")
    }
    assert found == {"like": True, "unlike": False, "another": False, "later": False}


# -- a window that cannot be closed -------------------------------------------------------


async def test_a_card_that_cannot_be_read_is_tried_at_longer_and_longer_distances(
    world: World, mail: str
) -> None:
    world.notifier.readable = False
    tried: list[tuple[int, str | None]] = []

    for second in range(900, 1_200):
        world.clock.advance(900 if second == 900 else 1)
        reads = len(world.notifier.read)
        await world.workflow.close_due()
        if len(world.notifier.read) > reads:
            tried.append((second - 900, (await world.proposal(mail)).attention))

    times = [at for at, _ in tried]
    apart = [later - before for before, later in itertools.pairwise(times)]
    assert apart[:7] == [2, 4, 8, 16, 32, 60, 60]
    assert [attention for _, attention in tried[:6]] == [
        None,
        None,
        None,
        None,
        "overdue",
        "overdue",
    ]
    assert len(await announced(world, f"{mail} ")) == 1

    world.notifier.readable = True
    await world.passes(minutes=1)
    closed = await world.proposal(mail)
    assert (closed.state, closed.attention) == ("completed", None)


# -- why somebody said no -----------------------------------------------------------------


@pytest.mark.parametrize(("seconds", "counts"), [(299, True), (300, False)])
async def test_words_behind_a_bare_cross_are_waited_for_five_minutes(
    world: World, seconds: int, counts: bool
) -> None:
    await world.submits(MAIL, proposal_id="refused", task_id="task-1")
    await world.reacts("ana", "refused", "❌")
    world.clock.advance(seconds)

    reply = await world.workflow.give_reason("refused", world.sender("ana"), "wrong amount")
    await world.passes(seconds=1)

    assert reply.code == (None if counts else "already_decided")
    told = await world.store.read(lambda tx: tx.outbox.waiting("terminal", 2**62, 100))
    (end,) = [each.body["explanation"] for each in told if each.kind == "ended"]
    task = await world.store.read(lambda tx: tx.backlog.get("leila", "task-1"))
    assert end == ("wrong amount" if counts else "Rejected by ana.")
    assert task is not None
    assert task.explanation == end
    assert (await world.trail("refused")).count("reason_given") == int(counts)
