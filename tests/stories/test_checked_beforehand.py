"""A check beforehand says what the submission will hear, and leaves nothing behind."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from lifecycle.answers import Answer
from lifecycle.policy import Rate
from tests.builders import MAIL, NOW_MS, PROD, a_document
from tests.world import World

SEARCH = {"tool": "search", "action_type": "read", "parameters": {"query": "terms"}}
REFUSED: dict[str, tuple[Mapping[str, Any], dict[str, Any]]] = {
    "a tool that nobody knows": (MAIL, {"tool": "send-emails"}),
    "somebody else's": (MAIL, {"actor": "nour"}),
    "an old one": (MAIL, {"ts_ms": NOW_MS - 3_600_000}),
    "evidence that nobody recorded": (
        MAIL,
        {"preconditions": [{"field": "ok", "operator": "eq", "value": True, "evidence_ref": "e1"}]},
    ),
    "nothing said of why": (MAIL, {"justification": "because"}),
    "a constraint that is no number": (
        MAIL,
        {"target": MAIL["target"] | {"constraints": {"max_rows": "5"}}},
    ),
    "a tool that nobody may use": (
        MAIL,
        {"tool": "financial-transfer", "action_type": "transact"},
    ),
}


def heard(answer: Answer) -> dict[str, Any]:
    """What of an answer does not depend on there being a proposal."""
    told = answer.as_json()
    return {
        key: told[key] for key in ("outcome", "reason", "explanation", "tier", "errors", "retry")
    }


async def checks(world: World, document: dict[str, Any]) -> Answer:
    return await world.workflow.check(json.dumps(document).encode(), world.sender("leila"))


@pytest.mark.parametrize(("base", "changes"), REFUSED.values(), ids=REFUSED.keys())
async def test_a_refusal_is_told_as_the_submission_hears_it(
    world: World, base: Mapping[str, Any], changes: dict[str, Any]
) -> None:
    document = a_document(base, **changes)

    checked = await checks(world, document)
    before = await world.store.read(lambda tx: tx.audit.head())
    again = await checks(world, document)

    assert await world.store.read(lambda tx: tx.audit.head()) == before
    submitted = await world.workflow.submit(json.dumps(document).encode(), world.sender("leila"))
    assert heard(checked) == heard(again) == heard(submitted)
    assert checked.proposal_id is checked.state is None


async def test_a_check_uses_up_no_rate(world: World) -> None:
    tools = world.workflow.policy.tools
    await world.adopts(tools=tools | {"search": replace(tools["search"], rate=Rate(1, 60))})
    document = a_document(MAIL, **SEARCH, proposal_id="first")
    for _ in range(3):
        assert (await checks(world, document)).reason is None

    await world.submits(document, proposal_id="first")

    late = a_document(MAIL, **SEARCH, proposal_id="second")
    checked, submitted = await checks(world, late), await world.submits(late, proposal_id="second")
    assert checked.reason == submitted.reason == "rate_limited"
    assert checked.retry_after_s == submitted.retry_after_s == 60


async def test_a_check_knows_what_exists_already(world: World) -> None:
    document = a_document(PROD, proposal_id="first")
    await world.submits(document, proposal_id="first")

    checked = await checks(world, a_document(document, proposal_id="second"))

    assert (checked.deduplicated, checked.proposal_id) == (True, "first")
