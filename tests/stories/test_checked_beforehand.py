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


@pytest.mark.parametrize("where", ["parameters", "target"])
async def test_a_credential_for_a_name_is_not_repeated_to_whoever_checks(
    world: World, where: str
) -> None:
    """The place of a finding is a path, and the name stood in it."""
    key = "AKIA" + "IOSFODNN7EXAMPLE"
    named = {key: "1"} if where == "parameters" else {"constraints": {key: "1"}}

    told = await checks(world, a_document(MAIL, **{where: MAIL[where] | named}))

    assert told.reason == "secrets_absent"
    assert key not in json.dumps(told.as_json())


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


ASKED = {"field": "ok", "operator": "eq", "value": True, "evidence_ref": "e1"}


async def test_what_evidence_says_is_asked_no_oftener_than_the_tool_may_be_proposed(
    world: World,
) -> None:
    """With `matches` a text was read letter by letter, a thousand letters a second."""
    tools = world.workflow.policy.tools
    await world.adopts(tools=tools | {"search": replace(tools["search"], rate=Rate(2, 60))})
    await world.observes(True)

    asked = [ASKED | {"value": value} for value in (True, False, True, False)]
    told = [await checks(world, a_document(MAIL, **SEARCH, preconditions=[a])) for a in asked]

    assert [each.reason for each in told] == [
        None,
        "preconditions_hold",
        "rate_limited",
        "rate_limited",
    ]
    assert told[2].retry_after_s == 60
    assert told[2].explanation == "Wait 60 s, then check again; proposals are counted apart."
    for name in ("first", "second"):  # a check takes nothing from what may be proposed
        sent = await world.submits(a_document(MAIL, **SEARCH), proposal_id=name)
        assert sent.reason == "tool_succeeded"
    world.clock.advance(60)
    later = a_document(MAIL, **SEARCH, preconditions=[ASKED])
    assert (await checks(world, later)).reason is None


async def test_whoever_asks_what_evidence_says_stands_in_the_trail(world: World) -> None:
    await world.observes(True)

    await checks(world, a_document(MAIL, **SEARCH, preconditions=[ASKED]))
    await checks(world, a_document(MAIL, **SEARCH))

    (entry,) = await world.audit("checked")
    assert entry["actor"] == {"kind": "agent", "id": "leila"}
    assert (entry["details"]["tool"], entry["details"]["evidence"]) == ("search", ["e1"])
    assert await world.store.read(lambda tx: tx.proposals.get("p1")) is None


async def test_of_a_check_that_asks_about_much_the_trail_keeps_a_few_ids(world: World) -> None:
    asked = [ASKED | {"evidence_ref": f"e{number}"} for number in range(10, 50)]
    for each in asked:
        await world.observes(True, each["evidence_ref"])

    told = await checks(world, a_document(MAIL, **SEARCH, preconditions=asked))

    (entry,) = await world.audit("checked")
    assert told.reason is None
    assert entry["details"]["evidence"] == [f"e{number}" for number in range(10, 42)]


async def test_of_a_flood_of_checks_people_are_not_told_as_of_proposals(world: World) -> None:
    """Else an agent that only asks would be taken for one that runs wild, and its later flood of
    proposals would be told to nobody."""
    tools = world.workflow.policy.tools
    await world.adopts(tools=tools | {"search": replace(tools["search"], rate=Rate(1, 60))})
    await world.observes(True)

    for _ in range(3):
        await checks(world, a_document(MAIL, **SEARCH, preconditions=[ASKED]))
    for name in ("first", "second", "third"):
        await world.submits(a_document(MAIL, **SEARCH), proposal_id=name)

    told = await world.store.read(lambda tx: tx.outbox.waiting("terminal", 2**62, 100))
    assert [body["text"] for each in told if "than it" in (body := each.body)["text"]] == [
        "leila checks more than it may, and the rest is refused: "
        "Wait 60 s, then check again; proposals are counted apart.",
        "leila proposes more than it may, and the rest is refused: "
        "Wait 60 s, then send the proposal again.",
    ]


async def test_a_check_whose_tool_is_taken_out_meanwhile_promises_nothing(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was answered that Sentinel found nothing against it."""
    tools, read = dict(world.workflow.policy.tools), world.store.read

    async def and_then_the_policy_is_replaced(unit: Any) -> Any:
        found = await read(unit)
        monkeypatch.undo()
        await world.adopts(tools={name: tools[name] for name in tools if name != "send-email"})
        return found

    monkeypatch.setattr(world.store, "read", and_then_the_policy_is_replaced)
    told = await checks(world, a_document(MAIL))

    assert (told.reason, told.digest) == ("audit_unavailable", None)
    assert told.explanation == "The policy is just being replaced; send it again."
