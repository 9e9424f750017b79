"""What is refused after the gate is named where its sender wrote it, too (section 4)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from tests.builders import MAIL, NOW_MS, a_document
from tests.stories.test_plans import an_envelope
from tests.world import World

NOT_ON_RECORD = {"field": "ok", "operator": "eq", "value": True, "evidence_ref": "e9"}


async def paths_told(world: World, document: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Check a document, submit it, and return the codes and paths, the same for both."""
    raw, leila = json.dumps(document).encode(), world.sender("leila")
    checked = await world.workflow.check(raw, leila)
    answer = await world.workflow.submit(raw, leila)

    told = [(fault.code, fault.path) for fault in answer.errors]
    assert [(fault.code, fault.path) for fault in checked.errors] == told
    return told


@pytest.mark.parametrize(
    ("changes", "code", "path"),
    [
        ({"actor": "nour"}, "actor_mismatch", "actor"),
        ({"ts_ms": 1}, "implausible_time", "ts_ms"),
        ({"preconditions": [NOT_ON_RECORD]}, "V-PROP-013", "preconditions[0].evidence_ref"),
        ({"approval_class": "triple"}, "V-PROP-014", "approval_class"),
        ({"justification": "soon"}, "insufficient_justification", "justification"),
    ],
)
async def test_a_candidate_is_refused_at_its_place_in_the_envelope(
    world: World, changes: Mapping[str, Any], code: str, path: str
) -> None:
    """The field was named as if the candidate had come alone; an envelope has none of that name."""
    candidate = a_document(MAIL, **changes)
    envelope = an_envelope(world, [candidate], {})
    key = next(iter(envelope["candidates"]))

    assert await paths_told(world, envelope) == [(code, f"candidates.{key}.{path}")]


async def test_an_id_that_is_taken_is_named_at_its_place_in_the_envelope(world: World) -> None:
    await world.submits(MAIL, proposal_id="p1")
    other = a_document(MAIL, justification="Another reason for the same mail")

    (told,) = await paths_told(world, an_envelope(world, [other], {}))

    assert told[0] == "id_conflict"
    assert told[1].startswith("candidates.")
    assert told[1].endswith(".proposal_id")


@pytest.mark.parametrize(
    ("evidence", "path"),
    [
        (["e9"], "evidence[0]"),
        ("e9", "evidence"),
        (
            [{"evidence_id": "e9", "binding_type": "context", "required": True}],
            "evidence[0].evidence_id",
        ),
    ],
)
async def test_evidence_that_is_not_on_record_is_named_as_a_kernel_request_calls_it(
    world: World, evidence: Any, path: str
) -> None:
    """It named evidence_bindings, which a KernelRequest does not have."""
    tools = dict(world.workflow.policy.tools)
    match = {"resource_type": "order", "domain": "shop.example"}
    await world.adopts(tools=tools | {"search": replace(tools["search"], match=match)})
    request = {
        "request_id": "r1",
        "ts_ms": NOW_MS,
        "actor": "leila",
        "tool_call": {"name": "search"},
        "params": {"resource_id": "order-17"},
        "evidence": evidence,
    }

    assert await paths_told(world, request) == [("V-PROP-013", path)]


async def test_what_is_of_no_field_is_named_at_no_place_of_an_envelope(world: World) -> None:
    """A role that is missing, or a rate, is no fault of the document."""
    agents = dict(world.workflow.policy.agents)
    await world.adopts(agents=agents | {"leila": replace(agents["leila"], roles=frozenset())})

    told = await paths_told(world, an_envelope(world, [a_document(MAIL)], {}))

    assert told == [("missing_role", "")]


@pytest.mark.parametrize(
    ("key", "place"),
    [
        ("the mail.0", 'candidates["the mail.0"]'),
        ("k" * 50_000, f'candidates["{"k" * 64}..."]'),
    ],
)
async def test_an_odd_key_of_a_candidate_is_quoted_and_cut_short_in_every_path(
    world: World, key: str, place: str
) -> None:
    """The key stood in each of up to 32 paths as it was: an answer of megabytes."""
    candidate = a_document(MAIL, ts_ms=1)
    envelope = an_envelope(world, [candidate], {})
    envelope["candidates"] = {key: candidate}

    assert await paths_told(world, envelope) == [("implausible_time", f"{place}.ts_ms")]
    envelope["candidates"] = {key: 7}
    assert await paths_told(world, envelope) == [("proposal_invalid_step", place)]
