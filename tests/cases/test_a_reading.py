"""Kind A, as far as reading the bytes decides it; and what the whole law makes of the bytes."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from lifecycle.answers import Answer
from lifecycle.checking.sentinel_run import Sentinel
from lifecycle.errors import Refused
from lifecycle.first_gate.reading import read_object
from lifecycle.policy import Policy
from sentinel_rules import load_rules
from tests.builders import MAIL, NOW_MS, PROD, REFUND, a_document
from tests.roads import adopted
from tests.terminal import a_terminal, documents
from tests.world import World


def refusal_of(text: str) -> Refused:
    with pytest.raises(Refused) as caught:
        read_object(text.encode())
    return caught.value


def refund(parameters: str) -> str:
    return (
        '{"proposal_id":"p1","actor":"leila","tool":"issue-refund","action_type":"transact",'
        '"target":{"resource_type":"payment","resource_id":"r1","domain":"shop","constraints":{}},'
        f'"parameters":{parameters}}}'
    )


@pytest.mark.parametrize(
    ("text", "column"),
    [('“{"proposal_id":"p1"}”', 1), ("{“proposal_id”:“p1”}", 2)],
    ids=["around the object", "inside the object"],
)
def test_A03_curly_quotes_are_malformed_at_the_first_of_them(text: str, column: int) -> None:
    refusal = refusal_of(text)
    assert refusal.code == "malformed_json"
    assert refusal.faults[0].actual == f"line 1, column {column}"
    assert "straight" in str(refusal)


@pytest.mark.parametrize(
    ("text", "path"),
    [
        (
            refund('{"amount":"50.00","currency":"USD","amount":"50000.00"}'),
            "parameters.amount",
        ),
        ('{"proposal_id":"p1","actor":"leila","proposal_id":"p2"}', "proposal_id"),
        (refund('{"a":{"b":[{"c":1,"c":2}]}}'), "parameters.a.b[0].c"),
    ],
    ids=["amount", "top level", "three levels down"],
)
def test_A05_a_repeated_key_is_refused_with_its_path(text: str, path: str) -> None:
    (fault,) = refusal_of(text).faults
    assert (fault.code, fault.path) == ("duplicate_key", path)


@pytest.mark.parametrize("literal", ["NaN", "Infinity", "-Infinity", "1e999"])
def test_A06_a_bare_value_that_is_not_finite_is_refused(literal: str) -> None:
    (fault,) = refusal_of(refund(f'{{"amount":{literal},"currency":"USD"}}')).faults
    assert (fault.code, fault.path) == ("non_finite_number", "parameters.amount")


def test_A06_records_that_are_not_a_number_are_refused() -> None:
    (fault,) = refusal_of('{"risk_envelope":{"max_affected_records":NaN}}').faults
    assert (fault.code, fault.path) == (
        "non_finite_number",
        "risk_envelope.max_affected_records",
    )


@pytest.mark.parametrize("text", ["NaN", "inf"])
def test_A06_the_words_as_strings_are_left_to_the_rules(text: str) -> None:
    raw = refund(json.dumps({"amount": text, "currency": "USD"}))
    assert read_object(raw.encode())["parameters"]["amount"] == text


@pytest.mark.parametrize("levels", [2_000, 100_000])
def test_A09_very_deep_nesting_is_refused_and_the_next_document_is_read(levels: int) -> None:
    assert refusal_of(refund("[" * levels + "]" * levels)).code == "too_deep"
    assert read_object(refund('{"amount":"120.00","currency":"USD"}').encode())


@pytest.mark.parametrize("beside", ['"a":[[],{}]', '"a":"]]}}[{"'], ids=["brackets", "in a text"])
def test_A09_a_document_is_thirty_two_levels_deep_and_no_deeper(beside: str) -> None:
    def document(levels: int) -> str:
        return refund(f'{{{beside},"b":{"[" * (levels - 2)}{"]" * (levels - 2)}}}')

    assert read_object(document(32).encode())
    assert refusal_of(document(33)).code == "too_deep"


@pytest.mark.parametrize(
    ("text", "path"),
    [
        (
            '{"risk_envelope":{"max_affected_records":9223372036854775808}}',
            "risk_envelope.max_affected_records",
        ),
        ('{"ts_ms":1' + "0" * 30 + "}", "ts_ms"),
        ('{"ts_ms":1e30}', "ts_ms"),
        ('{"parameters":{"n":' + "9" * 5_000 + "}}", "parameters.n"),
    ],
    ids=["64 bits", "10^30", "1e30", "5000 digits"],
)
def test_A11_an_integer_too_wide_to_keep_is_out_of_range(text: str, path: str) -> None:
    (fault,) = refusal_of(text).faults
    assert (fault.code, fault.path) == ("out_of_range", path)


ENVELOPED = PROD | {
    "risk_envelope": {
        "allowed_side_effects": ["deploy"],
        "forbidden_effects": [],
        "max_affected_records": 1,
        "reversible_required": False,
    }
}


class AskedSentinel(Sentinel):
    """The Sentinel of a policy, and the ids of the proposals that it was asked about."""

    def __init__(self, policy: Policy) -> None:
        super().__init__(load_rules(policy.rules))
        self.asked: list[str] = []

    async def check(self, document: Any, *args: Any, **more: Any) -> Any:
        self.asked.append(document.proposal_id)
        return await super().check(document, *args, **more)

    def check_at_once(self, document: Any, *args: Any, **more: Any) -> Any:
        self.asked.append(document.proposal_id)
        return super().check_at_once(document, *args, **more)


def whole(base: Mapping[str, Any], old: str, new: str) -> bytes:
    """A document that is valid but for one piece of its text."""
    text = json.dumps(a_document(base, proposal_id="bad"))
    assert text.count(old) == 1
    return text.replace(old, new).encode()


async def nothing_came_of_it(world: World, answer: Answer) -> str | None:
    """See that only the answer and one audit row are left; return the code."""
    assert (answer.state, answer.proposal_id) == (None, None)
    assert await world.store.read(lambda tx: tx.proposals.ids_after("", 10)) == []
    assert await world.store.read(lambda tx: tx.proposals.count_waiting()) == 0
    assert await world.store.read(lambda tx: tx.cards.of("bad")) == []
    assert all(not tool.calls for tool in world.toolbox.tools.values())
    (row,) = await world.audit("refused")
    assert row["reason"] == answer.reason
    assert row["details"]["codes"] == [answer.reason]
    return answer.reason


@pytest.mark.parametrize(
    ("raw", "code", "path"),
    [
        pytest.param(
            whole(REFUND, '"amount": "120.00"', '"amount": "50.00", "amount": "50000.00"'),
            *("duplicate_key", "parameters.amount"),
            id="A05 the amount twice",
        ),
        pytest.param(
            whole(REFUND, '"tool": "issue-refund"', '"tool": "search", "tool": "issue-refund"'),
            *("duplicate_key", "tool"),
            id="A05 the tool twice",
        ),
        pytest.param(
            whole(REFUND, '"currency": "USD"', '"currency": "USD", "a": {"b": [{"c": 1, "c": 2}]}'),
            *("duplicate_key", "parameters.a.b[0].c"),
            id="A05 three levels down",
        ),
        *(
            pytest.param(
                whole(REFUND, '"120.00"', literal),
                *("non_finite_number", "parameters.amount"),
                id=f"A06 {literal}",
            )
            for literal in ("NaN", "Infinity", "-Infinity", "1e999")
        ),
        pytest.param(
            whole(ENVELOPED, '"max_affected_records": 1', '"max_affected_records": NaN'),
            *("non_finite_number", "risk_envelope.max_affected_records"),
            id="A06 NaN records",
        ),
        pytest.param(
            whole(ENVELOPED, '"max_affected_records": 1', f'"max_affected_records": {2**63}'),
            *("out_of_range", "risk_envelope.max_affected_records"),
            id="A11 64 bits",
        ),
        pytest.param(
            whole(MAIL, f'"ts_ms": {NOW_MS}', f'"ts_ms": {10**30}'),
            *("out_of_range", "ts_ms"),
            id="A11 10^30",
        ),
        pytest.param(
            whole(REFUND, '"currency": "USD"', '"currency": "USD", "n": ' + "9" * 5_000),
            *("out_of_range", "parameters.n"),
            id="A11 5000 digits",
        ),
    ],
)
async def test_A05_A06_A11_what_is_refused_leaves_one_row_and_the_next_mail_is_judged(
    world: World, raw: bytes, code: str, path: str
) -> None:
    sentinel = AskedSentinel(world.workflow.policy)
    await adopted(world.workflow, world.workflow.policy, sentinel)

    answer = await world.workflow.submit(raw, world.sender("leila"))
    await world.shows()

    assert await nothing_came_of_it(world, answer) == code
    assert [(fault.code, fault.path) for fault in answer.errors] == [(code, path)]
    assert sentinel.asked == []
    assert (await world.submits(MAIL, proposal_id="mail")).state == "sentinel_approved"
    assert set(sentinel.asked) == {"mail"}


@pytest.mark.parametrize("text", ["NaN", "inf"])
async def test_A06_the_words_as_strings_are_rejected_as_no_amount(world: World, text: str) -> None:
    parameters = REFUND["parameters"] | {"amount": text}

    answer = await world.submits(REFUND, parameters=parameters)

    assert (answer.state, answer.reason) == ("rejected", "amount_within_limit")
    assert [(fault.code, fault.path) for fault in answer.errors] == [
        ("ambiguous_amount", "parameters.amount")
    ]


async def test_A09_hostile_depth_takes_nobody_elses_time(tmp_path: Path) -> None:
    terminal = a_terminal(None, tmp_path)
    for name, levels in (("message", 2_000), ("file", 100_000)):
        deep = whole(MAIL, '"Hello"', "[" * levels + "]" * levels)
        (tmp_path / f"{name}.json").write_bytes(deep)
    message = (tmp_path / "message.json").read_bytes()

    async with asyncio.timeout(2):
        refused = [
            documents(await terminal.types(line))[0]
            for line in (b"leila: propose " + message, "leila: propose @file.json")
        ]
        began_s = time.monotonic()
        mail = await terminal.proposes(MAIL, proposal_id="mail")
        took_s = time.monotonic() - began_s

    assert [(answer["state"], answer["reason"]) for answer in refused] == [(None, "too_deep")] * 2
    assert (mail["state"], mail["proposal_id"]) == ("sentinel_approved", "mail")
    assert took_s < 1
    assert [row["reason"] for row in await terminal.world.audit("refused")] == ["too_deep"] * 2
