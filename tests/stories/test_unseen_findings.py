"""Nobody's approval stands for what that person could not have seen."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from lifecycle.policy import ActionType, Level, RuleSettings
from lifecycle.ports import StoreUnavailable
from lifecycle.state import State
from lifecycle.tier import Tier
from tests.builders import MAIL, PROD, a_document, a_tool
from tests.world import World

DEPLOY = "production-deploy"


def softly(world: World, *rules: str) -> dict[str, RuleSettings]:
    """Return the rules with these soft, and `final warning` prohibited."""
    settings = dict(world.workflow.policy.rules)
    settings["prohibited_content"] = replace(
        settings["prohibited_content"], settings={"phrases": ["final warning"]}
    )
    return settings | {rule: replace(settings[rule], level=Level.SOFT) for rule in rules}


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
