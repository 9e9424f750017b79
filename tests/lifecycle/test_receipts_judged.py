"""What a tool answers is kept as a receipt, summarised, or unknown; it says what still stands."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal

import pytest

from lifecycle.calls.calling import LARGEST_RECEIPT, call_tool, result_of
from lifecycle.proposal import Outcome
from tests.lifecycle.test_calling import CALL, Answers


async def test_a_receipt_is_kept_as_plain_json():
    result = await call_tool(Answers({"a": (1, 2.0)}), CALL)

    assert result.receipt == {"a": [1, 2]}


@pytest.mark.parametrize(
    "answer", [None, "done", 1, [], {"a": object()}, {1: 2}, {2**60: 2**60}, {"a": {2: "\ud800"}}]
)
async def test_what_is_no_receipt_is_unknown(answer):
    result = await call_tool(Answers(answer), CALL)

    assert (result.outcome, result.receipt) == (Outcome.UNKNOWN, None)


@pytest.mark.parametrize(("answer", "kind"), [(None, "NoneType"), ("ok", "str"), ([{}], "list")])
async def test_who_writes_a_tool_is_told_what_it_answered_in_place_of_a_receipt(answer, kind):
    result = await call_tool(Answers(answer), CALL)

    words = f"answered with {kind}, and a receipt is a dict: it may be empty."
    assert result.explanation == f"staging-deploy {words}"


@pytest.mark.parametrize(
    ("answer", "what", "kind"),
    [
        ({"ok": 1, "at": datetime(2026, 3, 2, tzinfo=UTC)}, "at is or holds", "datetime"),
        ({"sums": [{"a": 1}, {"b": [Decimal(1)]}]}, "sums is or holds", "Decimal"),
        ({"password=hunter2x9": {1}}, "password=‹secret, 9 characters› is or holds", "set"),
        ({"a": [{2: 3}]}, "a is or holds", "int"),
        ({1: 2}, "the name of a field is", "int"),
    ],
)
async def test_who_writes_a_tool_is_told_what_of_its_receipt_is_no_json(answer, what, kind):
    result = await call_tool(Answers(answer), CALL)

    words = f"a receipt that is no JSON: {what} a value of type {kind}."
    assert result.explanation == f"staging-deploy answered with {words}"


@pytest.mark.parametrize("verb", ["execute", "commit", "roll_back"])
async def test_a_value_that_readers_disagree_on_makes_no_doubt_and_is_kept_as_text(verb):
    odd = [2**60, -(2**53), float("nan"), float("inf"), float("-inf"), "a\ud800", True, 1.5]

    receipt = {"id": 2**63, "long": -(2**20_000), "odd\udc00": odd}
    result = await call_tool(Answers(receipt), replace(CALL, verb=verb))

    assert result.outcome is Outcome.DONE
    assert result.receipt == {
        "id": "9223372036854775808",
        "long": "-0x1" + "0" * 5_000,
        "odd\\udc00": [
            "1152921504606846976", "-9007199254740992", "NaN", "Infinity", "-Infinity",
            "a\\ud800", True, 1.5,
        ],
    }  # fmt: skip


@pytest.mark.parametrize("stated", [float("nan"), [2**60], "\ud800"])
async def test_what_still_stands_stands_whatever_it_is_called(stated):
    result = await call_tool(Answers({"still_stands": stated}), replace(CALL, verb="roll_back"))

    assert (result.outcome, len(result.still_stands)) == (Outcome.DONE, 1)


async def test_a_receipt_too_large_is_summarised_with_what_the_law_reads():
    receipt = {"affected_records": 7, "effects": ["deploy"], "log": "x" * LARGEST_RECEIPT}

    kept = (await call_tool(Answers(receipt), CALL)).receipt

    assert kept["affected_records"] == 7
    assert kept["effects"] == ["deploy"]
    assert kept["receipt_left_out"]["bytes"] > LARGEST_RECEIPT
    assert "log" not in kept


async def test_a_receipt_whose_effects_alone_are_too_large_cannot_be_judged():
    result = await call_tool(Answers({"effects": ["x" * 99_999]}), CALL)

    assert (result.outcome, result.receipt) == (Outcome.UNKNOWN, None)


@pytest.mark.parametrize(
    ("stated", "stands"),
    [
        ([], ()),
        (None, ()),
        (False, ()),
        (["a", 1], ("a", 1)),
        ("the mail", ("the mail",)),
        (True, (True,)),
        ({"a": 1}, ({"a": 1},)),
    ],
)
async def test_roll_back_says_what_still_stands(stated, stands):
    result = await call_tool(Answers({"still_stands": stated}), replace(CALL, verb="roll_back"))

    assert (result.outcome, result.still_stands) == (Outcome.DONE, stands)


async def test_only_roll_back_is_read_for_what_still_stands():
    assert (await call_tool(Answers({"still_stands": ["a"]}), CALL)).still_stands == ()


async def test_a_receipt_nested_beyond_all_measure_is_unknown():
    nested = {}
    for _ in range(5_000):
        nested = {"a": nested}

    result = await call_tool(Answers(nested), CALL)

    assert result.outcome is Outcome.UNKNOWN


@pytest.mark.parametrize("number", [1e17, 2.0**53, -1e16, 1e300])
def test_a_whole_number_written_as_a_float_is_no_reason_to_forget_what_was_done(
    number: float,
) -> None:
    result = result_of("issue-refund", "execute", {"total": number, "id": "r1"})

    assert result.outcome is Outcome.DONE
    assert result.receipt is not None
    assert result.receipt["id"] == "r1"
