"""What every signal must pass, whatever the platform: the card, the event, what was shown."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from lifecycle.answers import CardPlace
from lifecycle.clockwork.closing import may_close
from lifecycle.freezing import frozen
from lifecycle.proposal import Attention, KeptStop, Outcome, Verb
from lifecycle.state import State
from tests.builders import MAIL, PROD, REFUND
from tests.fakes.tools import raising
from tests.world import World

DEPLOY = "production-deploy"
SEARCH = MAIL | {"tool": "search", "action_type": "read", "parameters": {"q": "terms"}}
TRANSFER = REFUND | {"tool": "financial-transfer"}


async def test_a_decision_on_an_old_card_is_none(world: World) -> None:
    proposal_id = (await world.submits(PROD)).proposal_id or ""
    old = CardPlace("terminal", "m-old")

    approved = await world.workflow.approve(proposal_id, world.sender("ana"), card=old)
    rejected = await world.workflow.reject(proposal_id, world.sender("ana"), card=old)

    assert (approved.code, rejected.code) == ("stale_card", "stale_card")
    assert await world.store.read(lambda tx: tx.reviews.of(proposal_id)) == []
    assert [row["reason"] for row in await world.audit("ignored")] == ["stale_card"] * 2


@pytest.mark.parametrize(
    ("heard_s_ago", "read_s_ago", "approves", "code"),
    [
        *((30, 30, False, None), (30, 10, False, None), (30, 30, True, "stale_card")),
        *((20, 20, False, "stale_card"), (10, 10, False, "stale_card")),
    ],
)
async def test_a_stop_counts_on_the_card_that_stood_when_it_was_heard(
    world: World, heard_s_ago: int, read_s_ago: int, approves: bool, code: str | None
) -> None:
    """It waited until its platform said who gave it, its card was deleted meanwhile, and nobody
    finds what stood there: it was lost as one on an old card."""
    proposal_id = (await world.submits(PROD)).proposal_id or ""
    card = await world.store.read(lambda tx: tx.cards.get(proposal_id, "terminal"))
    assert card is not None
    ids, now_ms = (*card.message_ids, "m-anew"), world.clock.now_ms()
    anew = replace(card, message_ids=ids, posted_at_ms=now_ms - 20_000)
    await world.store.write(lambda tx: tx.cards.put(anew))

    read_ms = now_ms - read_s_ago * 1000
    place = CardPlace("terminal", card.message_ids[-1], card.shown_version, read_ms)
    ben = replace(world.sender("ben"), heard_at_ms=now_ms - heard_s_ago * 1000)
    act = world.workflow.approve if approves else world.workflow.reject
    assert (await act(proposal_id, ben, card=place)).code == code


async def test_an_event_that_comes_again_counts_once_and_leaves_no_second_row(
    world: World,
) -> None:
    proposal_id = (await world.submits(PROD, approval_class="dual")).proposal_id or ""
    event = world.sender("ana", event_id="e1")
    await world.workflow.approve(proposal_id, event)
    await world.workflow.take_back(proposal_id, world.sender("ana"))

    again = await world.workflow.approve(proposal_id, event)
    await world.approves("ben", proposal_id)

    assert again.code == "duplicate_event"
    assert world.tool(DEPLOY).calls == []
    assert await world.audit("ignored") == []


async def test_what_is_not_shown_whole_is_not_approved_and_can_be_stopped(world: World) -> None:
    await world.workflow.freeze("wait", world.sender("ana"))
    proposal_id = (await world.submits(PROD)).proposal_id or ""
    card = await world.store.read(lambda tx: tx.cards.get(proposal_id, "terminal"))
    assert card is not None
    await world.store.write(lambda tx: tx.cards.put(replace(card, full=False)))

    approved = await world.approves("ana", proposal_id)
    rejected = await world.rejects("ana", proposal_id)

    assert approved.code == "not_fully_shown"
    assert rejected.done


@pytest.mark.parametrize(
    ("whole", "surface", "code"),
    [
        ({"slack"}, "terminal", "not_fully_shown"),
        ({"terminal"}, "terminal", None),
        (set(), "discord", "not_fully_shown"),
        ({"slack"}, "discord", None),
    ],
)
async def test_who_approves_has_seen_the_whole_where_it_is_given_or_else_anywhere(
    world: World, whole: set[str], surface: str, code: str | None
) -> None:
    world.notifier.names = ("terminal", "slack")
    await world.workflow.freeze("wait", world.sender("ana"))
    proposal_id = (await world.submits(PROD)).proposal_id or ""
    cards = await world.store.read(lambda tx: tx.cards.of(proposal_id))
    assert {card.surface for card in cards} == {"terminal", "slack"}
    for card in cards:
        shown = replace(card, full=card.surface in whole)
        await world.store.write(lambda tx, shown=shown: tx.cards.put(shown))

    sender = replace(world.sender("ana"), surface=surface)
    reply = await world.workflow.approve(proposal_id, sender)

    assert reply.code == code


async def test_only_its_proposer_withdraws(world: World) -> None:
    proposal_id = (await world.submits(PROD)).proposal_id or ""

    codes = [
        (await world.workflow.withdraw(proposal_id, world.sender(name))).code
        for name in ("nour", "ana", "olga", "nobody")
    ]

    assert codes == ["not_the_proposer"] * 4
    reply = await world.workflow.withdraw(proposal_id, world.sender("leila"))
    withdrawn = await world.proposal(proposal_id)
    assert (reply.code, reply.state) == (None, withdrawn.state.value)
    assert withdrawn.reason == "withdrawn"


async def test_only_reviewers_settle_and_retry(world: World) -> None:
    world.tool(DEPLOY).on["execute"] = raising(RuntimeError("cut off"))
    proposal_id = (await world.submits(PROD)).proposal_id or ""
    await world.approves("ana", proposal_id)

    codes = set()
    for name in ("leila", "nour", "cal", "olga", "nobody"):
        for happened in (True, False):
            reply = await world.workflow.settle(proposal_id, world.sender(name), happened)
            codes.add(reply.code)
        codes.add((await world.workflow.retry(proposal_id, world.sender(name))).code)

    assert codes == {"not_a_reviewer"}
    assert world.tool(DEPLOY).verbs() == ["execute"]
    assert (await world.proposal(proposal_id)).attention is Attention.OUTCOME_UNKNOWN


async def test_only_operators_thaw(world: World) -> None:
    await world.workflow.freeze("wait", world.sender("ana"))

    codes = [(await world.workflow.thaw(world.sender(name))).code for name in ("ben", "leila")]

    assert codes == ["not_an_operator"] * 2
    assert await world.store.read(frozen) is not None


async def test_an_end_that_an_answer_told_is_not_told_again(world: World) -> None:
    answer = await world.submits(SEARCH)
    waiting = await world.store.read(lambda tx: tx.outbox.waiting("terminal", 2**62, 100))

    assert answer.state == "completed"
    assert [m.key for m in waiting if m.kind == "ended"] == []


async def test_a_blocked_tool_is_answered_before_sentinel_is_asked(world: World) -> None:
    answer = await world.submits(TRANSFER)

    blocked = await world.proposal(answer.proposal_id or "")
    assert (blocked.state, blocked.reason, blocked.verdict) == (
        State.REJECTED,
        "tool_blocked",
        None,
    )


async def test_a_blocked_proposal_keeps_a_credential_masked_only(world: World) -> None:
    parameters = TRANSFER["parameters"] | {"api_key": "k-1234567890"}
    blocked = await world.proposal(
        (await world.submits(TRANSFER, parameters=parameters)).proposal_id or ""
    )

    assert blocked.reason == "tool_blocked"
    assert blocked.masked
    assert b"k-1234567890" not in blocked.document + blocked.r3_document


async def test_whoever_has_too_many_open_waits(world: World) -> None:
    agents = dict(world.workflow.policy.agents)
    agents["leila"] = replace(agents["leila"], open_limit=1)
    await world.adopts(agents=agents)
    await world.submits(PROD)

    second = await world.submits(MAIL)

    assert (second.reason, second.state) == ("too_many_open", None)


@pytest.mark.parametrize(
    "changes",
    [
        {"verb": Verb.COMMIT},
        {"verb": Verb.ROLL_BACK},
        {"outcome": Outcome.RUNNING},
        {"outcome": Outcome.UNKNOWN},
        {"outcome": Outcome.FAILED},
        {"attention": Attention.OUTCOME_UNKNOWN},
        {"attention": Attention.COMMIT_FAILED},
        {"attention": Attention.ROLLBACK_INCOMPLETE},
        {"attention": Attention.ENVELOPE_EXCEEDED},
        {"kept_stop": KeptStop("ana", "no", 0, "terminal")},
    ],
    ids=lambda changes: "-".join(map(str, changes.values()))[:40],
)
async def test_the_law_closes_no_window_that_something_holds_open(
    world: World, changes: dict[str, Any]
) -> None:
    proposal_id = (await world.submits(MAIL)).proposal_id or ""
    await world.approves("ana", proposal_id)
    world.clock.advance(900)
    opened = await world.proposal(proposal_id)
    moment = world.workflow.world.moment()
    assert opened.execution is not None
    row = {k: v for k, v in changes.items() if k in ("attention", "kept_stop")}
    execution = replace(opened.execution, **{k: v for k, v in changes.items() if k not in row})
    held = opened.but(execution=execution, **row)

    assert await world.store.read(lambda tx: may_close(tx, moment, opened))
    assert not await world.store.read(lambda tx: may_close(tx, moment, held))
