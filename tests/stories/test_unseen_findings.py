"""Nobody's approval stands for what that person could not have seen."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from lifecycle.policy import ActionType, Level, RuleSettings
from lifecycle.ports import StoreUnavailable, ToolFailed
from lifecycle.proposal import Attention
from lifecycle.state import State
from lifecycle.tier import Tier
from tests.builders import MAIL, PROD, a_document, a_tool
from tests.fakes.tools import raising
from tests.stories.doubtful import DEPLOY, unknown_deployment
from tests.world import World


def softly(world: World, *rules: str, level: Level = Level.SOFT) -> dict[str, RuleSettings]:
    """Return the rules with these soft, or at another level, and `final warning` prohibited."""
    settings = dict(world.workflow.policy.rules)
    settings["prohibited_content"] = replace(
        settings["prohibited_content"], settings={"phrases": ["final warning"]}
    )
    return settings | {rule: replace(settings[rule], level=level) for rule in rules}


async def test_a_second_soft_finding_is_shown_before_what_has_a_first_begins(world: World) -> None:
    tools = dict(world.workflow.policy.tools)
    tools["pay"] = a_tool("pay", Tier.CONFIRM, ActionType.TRANSACT)
    rules = softly(world, "prohibited_content", "amount_within_limit")
    await world.adopts(tools=tools, rules=rules)

    async def pays(order: str, note: str) -> str:
        money = {"amount": "8500.00", "currency": "USD", "order": order, "note": note}
        document = {**PROD, "tool": "pay", "action_type": "transact"}
        return (await world.submits(document, parameters=money)).proposal_id or ""

    await world.workflow.freeze("maintenance", world.sender("ana"))
    known = await pays("o1", "final warning")
    await world.approves("ana", known, "that wording is agreed")
    for order in ("o2", "o3"):
        await pays(order, "as agreed")
    await world.workflow.thaw(world.sender("ana"))
    await world.passes(seconds=10)

    waits = await world.proposal(known)
    assert waits.verdict is not None
    assert [fault.code for fault in waits.verdict.faults()] == ["prohibited_phrase", "daily_limit"]
    assert (waits.state, waits.opener) == (State.SENTINEL_APPROVED, None)
    assert world.tool("pay").verbs() == []

    await world.approves("ana", known, "the limit may be passed for this one")
    assert world.tool("pay").verbs() == ["execute"]


async def test_who_approves_before_the_verdict_is_asked_again_where_it_finds_something(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    await world.adopts(rules=softly(world, "prohibited_content"))
    writes: list[Any] = []
    real = world.store.write

    async def write(unit: Any) -> Any:
        writes.append(unit)
        if len(writes) == 2:  # that of the verdict
            raise StoreUnavailable("disk full")
        return await real(unit)

    parameters = {"version": "v42", "note": "final warning", "log": "as ever " * 800}
    document = a_document(PROD, ts_ms=world.clock.now_ms(), parameters=parameters)
    with monkeypatch.context() as patched:
        patched.setattr(world.store, "write", write)
        await world.workflow.submit(json.dumps(document).encode(), world.sender("leila"))
    assert (await world.proposal("p1")).verdict is None
    await world.shows()
    assert (await world.approves("ana", "p1", "the release is agreed")).done
    world.clock.advance(10)
    await world.restarts()

    waits = await world.proposal("p1")
    assert (waits.state, waits.opener) == (State.SENTINEL_APPROVED, None)
    assert world.tool(DEPLOY).verbs() == []

    await world.approves("ana", "p1", "the wording is agreed as well")
    assert world.tool(DEPLOY).verbs() == ["execute"]


async def test_a_card_on_a_surface_that_the_config_has_no_more_shows_nobody_anything(
    world: World,
) -> None:
    world.notifier.names = ("discord", "slack")
    await world.adopts(orchestrator="nour", auto_approval_tiers=frozenset({Tier.PROPOSE}))
    await world.workflow.freeze("maintenance", world.sender("ana"))
    document = json.dumps(a_document(MAIL, ts_ms=world.clock.now_ms())).encode()
    await world.workflow.submit(document, world.sender("leila"))
    [on_slack] = await world.store.read(lambda tx: tx.cards.stale("slack", 2**62, 10))
    shown = replace(
        on_slack, shown_version=on_slack.wanted_version, message_ids=("1",), delivered=True
    )
    await world.store.write(lambda tx: tx.cards.put(shown))

    world.notifier.names = ("discord",)
    await world.workflow.thaw(world.sender("ana"))
    await world.workflow.open_ready()
    await world.workflow.idle()
    assert world.tool("send-email").verbs() == []

    await world.shows()
    assert world.tool("send-email").verbs() == ["execute"]


async def test_no_execution_is_tried_again_over_a_soft_finding_that_nobody_knew_of(
    world: World,
) -> None:
    """`retry` takes no reason, and nobody's word counts over a soft finding without one."""
    await world.adopts(rules=softly(world, "prohibited_content", level=Level.ADVISORY))
    known = await unknown_deployment(world, parameters={"version": "v42", "note": "final warning"})
    await world.adopts(rules=softly(world, "prohibited_content"))

    refused = await world.workflow.retry(known, world.sender("ana"))
    await world.workflow.idle()

    assert (refused.code, refused.done) == ("prohibited_content", False)
    assert "Sentinel objects now: " in refused.words
    assert f"then settle {known} happened | did-not-happen" in refused.words
    assert world.tool(DEPLOY).verbs() == ["execute"]
    assert (await world.proposal(known)).attention is Attention.OUTCOME_UNKNOWN
    assert (await world.workflow.settle(known, world.sender("ana"), happened=False)).done


async def test_what_people_approved_over_a_soft_finding_is_tried_again_under_it(
    world: World,
) -> None:
    await world.adopts(rules=softly(world, "prohibited_content"))
    world.tool(DEPLOY).on["execute"] = raising(RuntimeError("cut off"))
    await world.submits(PROD, parameters={"version": "v42", "note": "final warning"})
    await world.approves("ana", "p1", "that wording is agreed")
    world.tool(DEPLOY).on.clear()

    assert (await world.workflow.retry("p1", world.sender("ben"))).done
    await world.workflow.idle()

    assert world.tool(DEPLOY).verbs() == ["execute", "execute"]


async def failed_commit_of_a_warning(world: World) -> None:
    """Let the mail p1 be approved, its words unobjectionable then, and not leave."""
    world.tool("send-email").on["commit"] = raising(ToolFailed("the server is away"))
    body = MAIL["parameters"] | {"body": "This is the final warning"}
    await world.adopts(rules=softly(world, "prohibited_content", level=Level.ADVISORY))
    await world.submits(MAIL, proposal_id="p1", parameters=body)
    await world.approves("ana", "p1")
    await world.passes(minutes=16)


async def test_a_commit_is_tried_again_whatever_soft_finding_there_is_since(world: World) -> None:
    """Inside a window only hard findings count; where a path leads is asked besides (ADR 0027)."""
    await failed_commit_of_a_warning(world)
    world.tool("send-email").on.clear()
    await world.adopts(rules=softly(world, "prohibited_content"))

    assert (await world.workflow.retry("p1", world.sender("ben"))).done
    await world.workflow.idle()

    assert world.tool("send-email").verbs() == ["execute", "commit", "commit"]


async def test_who_may_not_have_a_commit_tried_again_hears_how_its_stage_is_discarded(
    world: World,
) -> None:
    await failed_commit_of_a_warning(world)
    await world.adopts(rules=softly(world, "prohibited_content", level=Level.HARD))

    refused = await world.workflow.retry("p1", world.sender("ben"))

    assert refused.code == "prohibited_content"
    assert refused.words.endswith(". To discard the stage: roll-back p1 <reason>")
