"""An agent is shown the beginning of a result, however large it is (design section 7, seed 004)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from lifecycle.calls.calling import LARGEST_RECEIPT
from lifecycle.canonical import canonical_bytes, digest_of
from lifecycle.proposal import Attention
from lifecycle.state import State
from tests.builders import MAIL, REFUND
from tests.fakes.tools import answering
from tests.stories.unrecorded import SEARCH
from tests.world import World

ROWS = {"rows": [{"id": number, "text": "terms " * 200} for number in range(90)]}


async def found(world: World, receipt: Mapping[str, Any], **changes: Any) -> Mapping[str, Any]:
    """Return what the agent is shown of a search that was answered with this."""
    world.tool("search").on["execute"] = answering(receipt)
    answer = await world.submits(SEARCH, **changes)
    assert answer.state == "completed"
    assert isinstance(answer.result, Mapping)
    return answer.result


async def test_a_result_too_large_to_be_kept_is_shown_as_far_as_any_other(world: World) -> None:
    data = canonical_bytes(ROWS)
    assert len(data) > LARGEST_RECEIPT

    shown = await found(world, ROWS)

    assert [row["id"] for row in shown["value"]["rows"]] == list(range(len(shown["value"]["rows"])))
    assert len(shown["value"]["rows"]) > 2
    assert shown["handle"] == digest_of(data)
    assert "40 of 90 rows were left out." in shown["warnings"]
    assert f"The whole has {len(data)} bytes and is kept nowhere." in shown["warnings"]
    assert len(canonical_bytes(shown["value"])) <= 4_000


async def test_the_receipt_of_an_answer_is_its_result_and_nothing_that_is_masked_anew(
    world: World,
) -> None:
    """To mask all of a frame takes longer than to judge, store and answer a search."""
    world.tool("search").on["execute"] = answering(ROWS)

    answer = await world.submits(SEARCH)

    assert answer.execution is not None
    assert answer.execution["receipt"] is answer.result


async def test_rows_that_were_not_asked_for_are_not_shown_of_a_large_result(world: World) -> None:
    target = MAIL["target"] | {"constraints": {"max_rows": 2}}

    shown = await found(world, ROWS, target=target)

    assert [row["id"] for row in shown["value"]["rows"]] == [0, 1]


@pytest.mark.parametrize(
    ("text", "beginning"),
    [
        ("word " * 20_000, "word word"),
        ("word pat@partner.example " + "x" * 300_000, "word ‹email address, 19 characters› …"),
        ("x" * 300_000, " …"),
        ("-----BEGIN PRIVATE KEY-----\n" + "QWER1234\n" * 30_000, "‹secret, "),
    ],
)
async def test_of_a_text_of_any_length_the_beginning_is_read_and_masked(
    world: World, text: str, beginning: str
) -> None:
    shown = await found(world, {"text": text})

    assert shown["value"]["text"].startswith(beginning)
    assert "QWER" not in shown["value"]["text"]
    assert len(shown["value"]["text"]) <= 4_000


async def test_of_a_result_that_is_all_credentials_no_more_is_looked_at_than_of_any(
    world: World,
) -> None:
    """What is masked takes no room in the frame, and nobody is written for while it is sought."""
    key = "-----BEGIN PRIVATE KEY-----\n" + "QWER1234\n" * 6_500
    large = {"rows": [{f"key-{number}": key for number in range(10)} for _ in range(5)]}

    shown = await found(world, large)
    first, *others = shown["value"]["rows"]

    assert first["key-0"] == f"‹secret, {len(key)} characters›"
    assert first["key-1"].startswith("‹secret, ")
    assert {first[f"key-{number}"] for number in range(2, 10)} == {" …"}
    assert {text for row in others for text in row.values()} == {" …"}
    said = "Of texts beyond 65536 characters the rest was left out, unread."
    assert said in shown["warnings"]


async def test_what_is_kept_of_a_large_receipt_and_judged_by_is_what_it_was(world: World) -> None:
    world.tool("send-email").on["execute"] = answering({"affected_records": 2, **ROWS})
    envelope = {
        "allowed_side_effects": ["email"],
        "forbidden_effects": [],
        "max_affected_records": 1,
        "reversible_required": False,
    }
    proposal_id = (await world.submits(MAIL, risk_envelope=envelope)).proposal_id or ""
    await world.approves("ana", proposal_id)

    ended = await world.proposal(proposal_id)
    assert (ended.state, ended.reason) == (State.ROLLED_BACK, "rolled_back_by_sentinel")
    assert ended.execution is not None
    assert set(ended.execution.receipt or {}) == {"affected_records", "receipt_left_out"}


@pytest.mark.parametrize("outcome", ["done", "failed"])
async def test_a_large_report_of_an_agent_is_shown_like_a_tools(world: World, outcome: str) -> None:
    proposal_id = (await world.submits(REFUND)).proposal_id or ""
    await world.approves("ana", proposal_id)
    permit = await world.store.read(lambda tx: tx.permits.of(proposal_id, "execute", 1))
    leila = world.sender("leila")
    assert (await world.workflow.redeem(permit.token, REFUND["parameters"], leila)).done

    await world.workflow.report(proposal_id, leila, outcome, ROWS)

    ended = await world.proposal(proposal_id)
    assert ended.frame is not None
    assert ended.frame["value"]["rows"][0]["id"] == 0
    assert ended.attention is None


async def test_a_large_report_that_comes_late_is_kept_for_whoever_settles_it(world: World) -> None:
    proposal_id = (await world.submits(REFUND)).proposal_id or ""
    await world.approves("ana", proposal_id)
    permit = await world.store.read(lambda tx: tx.permits.of(proposal_id, "execute", 1))
    leila = world.sender("leila")
    assert (await world.workflow.redeem(permit.token, REFUND["parameters"], leila)).done
    await world.passes(minutes=2)
    assert (await world.proposal(proposal_id)).attention is Attention.OUTCOME_UNKNOWN

    await world.workflow.report(proposal_id, leila, "done", ROWS)

    late = await world.proposal(proposal_id)
    assert late.frame is not None
    assert late.frame["value"]["rows"][0]["id"] == 0
