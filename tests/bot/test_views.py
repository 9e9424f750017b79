"""What can be read of proposals as JSON."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from bot.explained import authority_json, explained
from bot.storage.memory import MemoryStore
from bot.views import pending_json, proposal_json, resolve, rfc3339, show, trail
from lifecycle.errors import AmbiguousId, ProposalNotFound
from lifecycle.policy import Rate
from lifecycle.proposal import Execution, Outcome, Verb
from lifecycle.review import Decision, Review
from lifecycle.state import State
from tests.builders import BEN, NOW_MS, PROD, REFUND, a_document, a_policy, a_proposal
from tests.world import a_world

REQUIRED = """
proposal_id state tier tool_tier tool actor digest reason explanation decided_by decided_at version
reviews execution attention
""".split()


def test_times_are_rfc_3339_in_utc_with_milliseconds() -> None:
    assert rfc3339(NOW_MS + 7) == "2026-03-02T12:00:00.007Z"


def test_show_names_at_least_what_the_design_names() -> None:
    review = Review("p1", "ben", Decision.REJECT, "no", NOW_MS, "discord")
    rejected = a_proposal(
        state=State.REJECTED, reason="rejected_by_person", decided_by=BEN, decided_at_ms=NOW_MS
    )
    shown = proposal_json(rejected, [review], NOW_MS, public_url="http://h/")

    assert set(REQUIRED) <= shown.keys()
    assert shown["actor"] == "leila"
    assert shown["decided_by"] == {"kind": "person", "id": "ben"}
    assert shown["decided_at"] == "2026-03-02T12:00:00.000Z"
    assert shown["r3_uri"] == f"http://h/r3/{rejected.r3_s256}"
    assert shown["reviews"] == [
        {
            "person": "ben",
            "decision": "reject",
            "reason": "no",
            "at": "2026-03-02T12:00:00.000Z",
            "surface": "discord",
        }
    ]


def test_an_execution_is_shown_with_its_window() -> None:
    running = Execution(
        Verb.EXECUTE,
        1,
        Outcome.DONE,
        window_opens_at_ms=NOW_MS,
        window_closes_at_ms=NOW_MS + 900_000,
    )
    shown = proposal_json(a_proposal(state=State.EXECUTING, execution=running), [], NOW_MS)

    assert shown["execution"]["window_closes_at"] == "2026-03-02T12:15:00.000Z"
    assert shown["execution"].keys() >= {"verb", "attempt", "outcome", "receipt"}


def test_what_is_past_its_deadline_is_expired_in_every_view() -> None:
    shown = proposal_json(a_proposal(deadline_ms=NOW_MS), [], NOW_MS)

    assert (shown["state"], shown["reason"]) == ("rejected", "expired")
    assert shown["decided_by"] == {"kind": "clock", "id": "clock"}


async def a_store(*ids: str) -> MemoryStore:
    store = MemoryStore()
    proposals = [a_proposal(a_document(proposal_id=each)) for each in ids]
    await store.write(lambda tx: [tx.proposals.add(each) for each in proposals])
    return store


async def test_four_characters_are_enough_where_they_are_unique() -> None:
    store = await a_store("alpha-1", "alpha-2", "beta", "alph")

    assert (await store.read(lambda tx: resolve(tx, "beta"))).proposal_id == "beta"
    assert (await store.read(lambda tx: resolve(tx, "alph"))).proposal_id == "alph"
    with pytest.raises(AmbiguousId, match="alpha-1, alpha-2"):
        await store.read(lambda tx: resolve(tx, "alpha"))
    for given in ("bet", "gamma", "", "b%"):
        with pytest.raises(ProposalNotFound, match="pending"):
            await store.read(lambda tx, given=given: resolve(tx, given))


async def test_pending_holds_what_waits_and_what_executes() -> None:
    store = await a_store("p1", "p2")
    running = a_proposal(a_document(proposal_id="p3"), state=State.EXECUTING)
    await store.write(lambda tx: tx.proposals.add(running))

    found = await store.read(lambda tx: pending_json(tx, NOW_MS))
    assert [each["proposal_id"] for each in found["proposals"]] == ["p1", "p2", "p3"]


async def test_the_trail_and_the_view_speak_of_the_same_proposal() -> None:
    world = a_world(MemoryStore())
    await world.submits(PROD, proposal_id="deploy-1")
    entries, _ = await world.store.read(lambda tx: trail(tx, "depl"))
    shown = await world.store.read(lambda tx: show(tx, "depl", NOW_MS))

    assert {entry["proposal_id"] for entry in entries} == {"deploy-1"}
    moves = [entry["to"] for entry in entries if entry["to"]]
    assert moves[-1] == shown["state"] == "sentinel_approved"


async def test_explain_names_every_rule_and_every_condition_of_authority() -> None:
    world = a_world(MemoryStore())
    await world.submits(PROD, proposal_id="deploy-1")
    policy = world.workflow.policy
    found = await world.store.read(lambda tx: explained(tx, "deploy-1", policy, NOW_MS))

    assert len(found["verdict"]["results"]) == 9
    assert found["verdict"]["at"] == rfc3339(NOW_MS)
    assert "at_ms" not in found["verdict"]
    names = [condition["name"] for condition in found["authority"]["conditions"]]
    assert names == ["roles", "min_justification", "max_rows", "rate"]
    assert found["authority"]["conditions"][-1]["required"] == "at most 2 in 60 s"
    assert found["authority"]["denied"] is False
    assert found["authority"]["reason"] == "default_policy_allow"


def test_explain_says_which_condition_fails() -> None:
    short = a_proposal(a_document(PROD, justification="because"))
    authority = authority_json(short, a_policy())

    assert authority is not None
    assert authority["reason"] == "insufficient_justification"
    assert authority_json(short, a_policy(tools={})) is None


def test_explain_tells_of_no_rate_that_nobody_was_asked_for() -> None:
    blocked = a_proposal(a_document(REFUND, tool="financial-transfer"))
    authority = authority_json(blocked, a_policy())

    assert authority is not None
    assert "rate" not in {condition["name"] for condition in authority["conditions"]}


async def test_explain_claims_nothing_of_a_rate_that_was_lowered_since() -> None:
    world = a_world(MemoryStore())
    for number in (1, 2):
        await world.submits(PROD, proposal_id=f"deploy-{number}", **other_place(number))
    tools = world.workflow.policy.tools
    tool = replace(tools[PROD["tool"]], rate=Rate(1, 60))
    policy = replace(world.workflow.policy, tools={**tools, tool.name: tool})

    found = await world.store.read(lambda tx: explained(tx, "deploy-2", policy, NOW_MS))

    rate = found["authority"]["conditions"][-1]
    assert (rate["required"], rate["held"]) == ("at most 1 in 60 s", True)
    assert rate["actual"] == "no more than was allowed when it was proposed"


def other_place(number: int) -> dict[str, Any]:
    """Return what tells one deployment from another."""
    return {"target": PROD["target"] | {"resource_id": f"shop-{number}"}}
