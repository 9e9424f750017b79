"""What agents and people are told is so: permits, receipts, rows, cards and who may still ask."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from lifecycle.answers import Answer
from lifecycle.ending import answer_of
from lifecycle.policy import Agent, Level
from lifecycle.proposal import Attention
from lifecycle.state import State
from lifecycle.verdict import Finding, RuleResult, Verdict
from tests.builders import MAIL, NOW_MS, POLICY_DIGEST, PROD, REFUND, a_proposal
from tests.fakes.tools import answering
from tests.stories.permits import begun, permitted, the_permit
from tests.world import World

REFUNDS = "issue-refund"


async def redeems(world: World, token: str, parameters: Any = None) -> Any:
    given = REFUND["parameters"] if parameters is None else parameters
    return await world.workflow.redeem(token, given, world.sender("leila"))


# -- permits ------------------------------------------------------------------------------


async def test_a_permit_that_was_used_is_consumed_whatever_comes_with_it(world: World) -> None:
    await begun(world)

    reply = await redeems(world, await the_permit(world), {"amount": "1.00"})

    assert reply.code == "permit_already_consumed"


async def test_a_permit_that_was_not_redeemed_in_time_has_expired(world: World) -> None:
    await permitted(world)
    permit = await the_permit(world)
    await world.passes(minutes=24 * 60 + 1)

    assert (await redeems(world, permit)).code == "permit_expired"


async def test_a_permit_of_what_a_person_rejected_begins_nothing_and_says_so(world: World) -> None:
    proposal_id = await permitted(world)
    permit = await the_permit(world)
    await world.rejects("ana", proposal_id, "wrong order")

    reply = await redeems(world, permit)

    assert reply.code == "already_decided"
    assert "wrong order" in reply.words


async def test_a_refused_redemption_stands_in_the_trail_of_its_proposal(world: World) -> None:
    proposal_id = await permitted(world)

    await redeems(world, await the_permit(world), {"amount": "1.00"})

    (row,) = await world.audit("permit_refused")
    assert (row["proposal_id"], row["reason"]) == (proposal_id, "proposal_parameter_mismatch")
    assert row["digest"] == (await world.proposal(proposal_id)).digest


# -- credentials that people type -----------------------------------------------------------


async def test_an_agent_is_told_why_without_the_credential_that_somebody_typed(
    world: World,
) -> None:
    proposal_id = (await world.submits(PROD)).proposal_id or ""
    await world.rejects("ana", proposal_id, "password=hunter2hunter2 does not belong here")
    again = await world.rejects("ben", proposal_id)

    messages = await world.store.read(lambda tx: tx.outbox.waiting("terminal", 2**62, 100))
    (end,) = [each for each in messages if each.kind == "ended"]
    told = "password=‹secret, 14 characters› does not belong here"
    assert end.body["explanation"] == told
    assert "hunter2" not in again.words
    assert (await world.proposal(proposal_id)).explanation == told
    assert [row["details"]["explanation"] for row in await world.audit("reject")] == [told]


async def test_a_refusal_that_binds_says_for_how_long_and_repeats_no_credential(
    world: World,
) -> None:
    proposal_id = (await world.submits(PROD)).proposal_id or ""
    await world.rejects("ana", proposal_id, "password=hunter2hunter2")
    await world.passes(minutes=12)

    again = await world.submits(PROD)

    assert (again.reason, again.retry_after_s) == ("previously_rejected", 2880)
    assert again.explanation.endswith("Do not send it again within the next 48 min.")
    assert "hunter2" not in json.dumps(again.as_json())


@pytest.mark.parametrize(
    ("level", "words"),
    [
        (Level.SOFT, "Sentinel has an objection that people may override, with a reason; people"),
        (Level.ADVISORY, "Sentinel has something to note and nothing against it; people decide."),
        (None, "Sentinel found nothing against it; people decide."),
    ],
)
def test_an_agent_is_told_whether_sentinel_found_anything(level: Level | None, words: str) -> None:
    found = (Finding("domain_not_allowed", "parameters.to", "odd", level),) if level else ()
    results = (RuleResult("recipients_allowed", Level.HARD, found),)
    verdict = Verdict(results, NOW_MS, POLICY_DIGEST)

    answer = answer_of(a_proposal(state=State.SENTINEL_APPROVED, verdict=verdict))

    assert answer.explanation.startswith(words)


async def test_an_unknown_id_that_is_a_credential_is_not_repeated(world: World) -> None:
    reply = await world.workflow.settle("password=hunter2hunter2", world.sender("ana"), True)

    assert (reply.code, "hunter2" in reply.words) == ("unknown_proposal", False)


# -- receipts -----------------------------------------------------------------------------


async def test_what_a_failed_report_says_is_kept(world: World) -> None:
    proposal_id = await begun(world)

    why = {"why": "card declined"}
    await world.workflow.report(proposal_id, world.sender("leila"), "failed", why)

    ended = await world.proposal(proposal_id)
    assert (ended.state, ended.reason) == (State.ROLLED_BACK, "tool_failed")
    assert (ended.frame or {})["value"] == why


async def test_a_receipt_that_comes_too_late_decides_nothing_and_is_kept_for_who_settles_it(
    world: World,
) -> None:
    proposal_id, leila = await begun(world), world.sender("leila")
    await world.passes(minutes=61)

    late = await world.workflow.report(proposal_id, leila, "done", {"refund": "r-77"})
    again = await world.workflow.report(proposal_id, leila, "done", {})
    other = await world.workflow.report(proposal_id, leila, "failed", {})

    waits = await world.proposal(proposal_id)
    assert (late.code, again.code) == ("already_decided", "permit_already_consumed")
    assert other.code == "already_decided", "a person weighs both words"
    assert waits.attention is Attention.OUTCOME_UNKNOWN
    assert "Its agent reported later: done." in waits.attention_why
    assert "Its agent reported later: failed." in waits.attention_why
    assert (waits.frame or {})["value"] == {"refund": "r-77"}
    await world.workflow.settle(proposal_id, world.sender("ana"), happened=True)
    assert (await world.proposal(proposal_id)).state is State.COMPLETED


@pytest.mark.parametrize(("asked", "shown"), [(3, 3), (0, 0), (500, 50)])
async def test_an_agent_is_shown_as_many_rows_as_it_asked_for_and_fifty_at_most(
    world: World, asked: int, shown: int
) -> None:
    world.tool("search").on["execute"] = answering({"rows": list(range(80))})
    answer = await submitted_search(world, {"max_rows": asked})

    rows = [row for row in answer.result["value"]["rows"] if isinstance(row, int)]
    assert len(rows) == shown


async def submitted_search(world: World, constraints: dict[str, Any]) -> Answer:
    target = {"resource_type": "library", "resource_id": "terms", "domain": "shop.example"}
    document = {
        "proposal_id": "s1",
        "ts_ms": world.clock.now_ms(),
        "actor": "leila",
        "tool": "search",
        "action_type": "read",
        "target": target | {"constraints": constraints},
        "parameters": {"query": "terms"},
    }
    return await world.workflow.submit(json.dumps(document).encode(), world.sender("leila"))


# -- rows and cards -----------------------------------------------------------------------


async def test_N05_a_move_that_a_person_made_names_its_place_and_event(world: World) -> None:
    proposal_id = (await world.submits(MAIL)).proposal_id or ""
    await world.workflow.approve(proposal_id, world.sender("ben", "event-1"))
    await world.workflow.idle()
    await world.workflow.reject(proposal_id, world.sender("ana", "event-2"), "not this one")
    await world.workflow.idle()

    rows = [
        row
        for kind in ("execute", "roll_back_claimed", "roll_back")
        for row in await world.audit(kind)
    ]
    assert [(row["actor"]["id"], row["surface"], row["event_id"]) for row in rows] == [
        ("ben", "terminal", "event-1"),
        ("ana", "terminal", "event-2"),
        ("ana", "terminal", "event-2"),
    ]


async def test_the_card_of_an_auto_tool_that_called_for_a_person_shows_how_it_ended(
    world: World,
) -> None:
    async def crashes(_call: Any) -> Any:
        raise OSError("gone")

    world.tool("search").on["execute"] = crashes
    proposal_id = (await submitted_search(world, {})).proposal_id or ""
    asked = await world.store.read(lambda tx: tx.cards.of(proposal_id))
    await world.workflow.settle(proposal_id, world.sender("ana"), happened=True)

    ended = await world.proposal(proposal_id)
    cards = await world.store.read(lambda tx: tx.cards.of(proposal_id))
    assert ended.state is State.COMPLETED
    assert len(asked) == len(cards) == 1
    assert cards[0].wanted_version == ended.version


# -- who may still ask --------------------------------------------------------------------


def without(world: World, name: str) -> dict[str, Agent]:
    return {n: agent for n, agent in world.workflow.policy.agents.items() if n != name}


@pytest.mark.parametrize("way", ["gone", "no roles"])
async def test_who_may_not_ask_any_more_has_nothing_begun_in_their_name(
    world: World, way: str
) -> None:
    proposal_id = (await world.submits(PROD)).proposal_id or ""
    agents = without(world, "leila")
    if way == "no roles":
        leila = world.workflow.policy.agents["leila"]
        agents |= {"leila": replace(leila, roles=frozenset())}
    await world.adopts(agents=agents)

    await world.approves("ana", proposal_id)

    ended = await world.proposal(proposal_id)
    assert (ended.state, ended.reason) == (State.REJECTED, "policy_changed")
    assert "Its proposer" in ended.explanation
    assert world.tool("production-deploy").calls == []


async def test_a_proposer_who_is_gone_is_noticed_where_execution_begins(world: World) -> None:
    """Also where nothing checked the proposal again since they went."""
    proposal_id = (await world.submits(PROD)).proposal_id or ""
    law = world.workflow.world.law
    fewer = replace(law.policy, agents=without(world, "leila"))
    world.workflow.world.law = replace(law, policy=fewer)

    await world.approves("ana", proposal_id)

    ended = await world.proposal(proposal_id)
    assert (ended.state, ended.reason) == (State.REJECTED, "policy_changed")
    assert world.tool("production-deploy").calls == []


async def test_who_becomes_the_owner_of_the_agent_approves_nothing_of_it_any_more(
    world: World,
) -> None:
    await world.workflow.freeze("for a moment", world.sender("ana"))
    proposal_id = (await world.submits(PROD)).proposal_id or ""
    await world.approves("ben", proposal_id)
    leila = world.workflow.policy.agents["leila"]
    await world.adopts(agents=without(world, "leila") | {"leila": replace(leila, owner="ben")})
    await world.workflow.thaw(world.sender("ana"))
    await world.workflow.open_ready()
    await world.workflow.idle()

    waits = await world.proposal(proposal_id)
    assert (waits.state, waits.opener) == (State.SENTINEL_APPROVED, None)
    assert world.tool("production-deploy").calls == []


async def test_evidence_belongs_to_the_source_that_recorded_it_first(world: World) -> None:
    sources = world.workflow.policy.sources
    other = replace(sources["crm-sensor"], id="other")
    await world.adopts(sources={**sources, "other": other})

    async def records(source: str, at_ms: int) -> str | None:
        packet = {"evidence_id": "e1", "source": source, "observed_at_ms": at_ms, "payload": {}}
        raw = json.dumps(packet).encode()
        return (await world.workflow.record_evidence(raw, world.sender(source))).code

    now_ms = world.clock.now_ms()
    assert await records("crm-sensor", now_ms) is None
    assert await records("other", now_ms + 1) == "id_conflict"
    assert await records("crm-sensor", now_ms + 2) is None
