"""Documents that were made to be long to judge: what stands in them is looked at once."""

from __future__ import annotations

import json
import re
import time
from collections import Counter
from string import ascii_uppercase

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lifecycle.calls.calling import call_tool
from lifecycle.first_gate.gate import accept
from lifecycle.first_gate.meaning import meaning_faults
from lifecycle.likeness import likeness
from lifecycle.ports import ToolFailed
from lifecycle.records import EvidencePacket
from lifecycle.text.amounts import amounts_of
from lifecycle.text.masking import mask_secrets
from lifecycle.text.patterns import Searches
from lifecycle.text.secrets_found import find_secrets
from lifecycle.verdict import PASSED
from lifecycle.verdicts.judge import masked_forms
from sentinel_rules.blast_radius_bounded import BlastRadiusBounded
from sentinel_rules.preconditions_hold import PreconditionsHold
from tests.builders import MAIL, NOW_MS, REFUND, a_document, a_policy, a_proposal
from tests.checking import facts_for, found, read
from tests.lifecycle.test_calling import CALL, Answers

CURRENCIES = [f"{a}{b}{c}" for a in ascii_uppercase for b in ascii_uppercase for c in "ABCDEFGHIJ"]
KEYS = st.sampled_from("abc")
SCALARS = st.none() | st.booleans() | st.integers(-1, 2) | st.sampled_from([0.0, 1.0, 0.5, "", "1"])


@pytest.mark.parametrize("below", ["constraints", "password"])
def test_names_that_are_masked_alike_are_all_seen_and_take_no_longer_than_others(
    below: str,
) -> None:
    names = {f"pw=a1{number:05d}": number for number in range(12_000)}
    masked_already = {"pw=‹secret, 7 characters›′2": 1, "pw=‹secret, 7 characters›": 2}
    began_s = time.thread_time()

    masked = mask_secrets({below: names | masked_already})

    assert time.thread_time() - began_s < 3
    assert len(masked[below]) == len(names) + len(masked_already)
    assert sum(map(len, masked[below])) < 600_000
    assert not any("a1" in name for name in masked[below])
    assert mask_secrets(masked) == masked


def test_what_is_kept_of_a_document_full_of_credentials_is_no_larger_than_twice_the_document() -> (
    None
):
    names = {f"pw=a1{number:05d}": 1 for number in range(3_000)}
    proposal = a_proposal(a_document(MAIL, parameters=MAIL["parameters"] | names))
    began_s = time.thread_time()

    kept = masked_forms(proposal)["document"]

    assert time.thread_time() - began_s < 2
    assert len(kept) < 3 * len(proposal.document)


LISTED = {f"{number:x}": 1 for number in range(7_000)}


@pytest.mark.parametrize(
    ("updates", "bounds", "passes"),
    [
        ({"a." * 15_000: 1}, {"forbidden_fields": ["role"]}, False),
        ({"." * 30_000: 1}, {"forbidden_fields": ["role"]}, False),
        (LISTED, {"allowed_fields": [*(f"g{n}" for n in range(30_000)), *LISTED]}, True),
        (LISTED, {"forbidden_fields": [f"{n}." * (n % 9) + "g" for n in range(9_000)]}, True),
    ],
    ids=["a name of steps", "a name of points", "much is allowed", "much is forbidden"],
)
def test_bounds_of_fields_are_judged_in_no_time(
    updates: dict[str, int], bounds: dict[str, list[str]], passes: bool
) -> None:
    """One name of points held the rule, and with it everybody, for twenty seconds."""
    envelope = {
        "allowed_side_effects": ["payment"],
        "forbidden_effects": [],
        "max_affected_records": 1,
        "reversible_required": False,
    }
    target = REFUND["target"] | {"constraints": bounds}
    parameters = REFUND["parameters"] | {"updates": updates}
    document = read(
        a_document(REFUND, risk_envelope=envelope, target=target, parameters=parameters)
    )
    rule = BlastRadiusBounded(BlastRadiusBounded.Options(max_affected_records=1))
    began_s = time.thread_time()

    verdict = rule.check(document, facts_for({"tool": "issue-refund", "actor": "leila"}))

    assert time.thread_time() - began_s < 1
    assert (verdict is PASSED) is passes


def test_amounts_in_thousands_of_currencies_are_added_up_once() -> None:
    many = CURRENCIES[:6_000]
    listed = [{"amount": "1.00", "currency": each} for each in many]
    began_s = time.thread_time()

    sums = amounts_of({}, {"listed": listed, "named": dict(zip(many, listed, strict=True))})

    assert time.thread_time() - began_s < 2
    assert len(sums) > 5_900  # some have no decimals, or three


def test_the_rule_of_amounts_asks_of_each_currency_what_it_is_allowed_and_no_more() -> None:
    listed = [{"amount": "1.00", "currency": each} for each in CURRENCIES[:6_000]]
    document = a_document(REFUND, target=REFUND["target"] | {"constraints": {"items": listed}})
    began_s = time.thread_time()

    codes = {code for rule, code, _ in found(document) if rule == "amount_within_limit"}

    assert time.thread_time() - began_s < 2
    assert "no_limit_for_currency" in codes


def test_thousands_of_preconditions_look_at_a_long_list_of_evidence_once() -> None:
    asked = {"evidence_ref": "e1", "field": "ids", "operator": "contains"}
    conditions = [asked | {"value": number} for number in range(-1_000, 1_000)]
    payload = {"ids": [*range(20_000), True, None, [1.0], {"a": 1}]}
    packet = EvidencePacket("e1", "crm-sensor", NOW_MS, NOW_MS, payload)
    document = a_document(MAIL, preconditions=conditions)
    began_s = time.thread_time()

    codes = Counter(code for _, code, _ in found(document, evidence={"e1": packet}))

    assert time.thread_time() - began_s < 3
    assert codes["precondition_false"] > 0


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("(\\pL|{0}){{900}}", "Pat"),
        ("(?:\\pL{{1,60}}|{0})", "Pat"),
        ("[ab]*a[ab]{{900}}c{0}", "ab" * 125_000),
        ("((a|b)*a(a|b){{300}}){{2}}{0}", "aab" * 80_000),
        ("(?:a|{0}|.{{1,900}})*", "a" * 250_000),
    ],
)
def test_patterns_of_preconditions_hold_nobody_up_however_many_there_are(
    pattern: str, text: str
) -> None:
    """RE2 takes 0.4 s to compile one such pattern, in which nothing else runs, and 2 s to try it:
    one document held the event loop for minutes."""
    asked = {"evidence_ref": "e1", "field": "t", "operator": "matches"}
    conditions = [asked | {"value": pattern.format(number)} for number in range(1_000)]
    packet = EvidencePacket("e1", "crm-sensor", NOW_MS, NOW_MS, {"t": text})
    document = read(a_document(MAIL, preconditions=conditions))
    rule = PreconditionsHold(PreconditionsHold.Options(trusted_sources=("crm-sensor",)))
    began_s = time.thread_time()

    findings = rule.check(document, facts_for(MAIL, evidence={"e1": packet}))

    assert time.thread_time() - began_s < 1
    assert "more searching than one proposal may ask for" in findings[-1].words


@given(st.recursive(SCALARS, lambda inner: st.lists(inner) | st.dictionaries(KEYS, inner)), SCALARS)
def test_a_list_contains_what_is_equal_to_one_of_its_items_type_by_type(
    item: object, other: object
) -> None:
    def contains(items: list[object], wanted: object) -> bool:
        asked = {"evidence_ref": "e1", "field": "x", "operator": "contains", "value": wanted}
        packet = EvidencePacket("e1", "crm-sensor", NOW_MS, NOW_MS, {"x": items})
        document = a_document(MAIL, preconditions=[asked])
        return ("preconditions_hold", "precondition_false", "preconditions[0]") not in found(
            document, evidence={"e1": packet}
        )

    same = json.loads(json.dumps(item))
    assert contains([0.5, item, "z"], same)
    equal = type(item) is type(other) and item == other
    numbers = (int, float)
    if type(item) in numbers and type(other) in numbers:
        equal = item == other
    assert contains([item], other) == equal


@pytest.mark.parametrize(
    "piece",
    [
        *("eyJ-", "-eyJ", "eyJabcde-", "eyJabcdef.", "eyJ-abcd.aaa", "bearer ", "sk-", "sk-ant-"),
        *("xoxb-", "curl -u ", "sv=2020-01-01&sig=", "a://:", "key-mailgun", "-----BEGIN "),
    ],
)
def test_text_full_of_the_beginnings_of_credentials_is_searched_once(piece: str) -> None:
    text = piece * (262_144 // len(piece))
    began_s = time.thread_time()

    find_secrets(text)

    assert time.thread_time() - began_s < 3


@given(st.lists(st.sampled_from(["eyJ", "-", ".", "a", "abcde", "é", " ", "eyJabcde.bbbb."])))
def test_a_token_is_masked_wherever_one_may_begin(pieces: list[str]) -> None:
    text = "".join(pieces)
    tokens = re.finditer(r"\beyJ[\w-]{5,}+\.[\w-]{4,}+\.[\w-]*+", text)

    found = [(each.start, each.end) for each in find_secrets(text) if "web token" in each.kind]

    assert found == [token.span() for token in tokens]


@pytest.mark.parametrize("blank", [" ", "\n", "\u3000"])
@pytest.mark.parametrize(("begin", "end"), [("[a](", "x)"), ("[a](https://x.test/", "x)")])
def test_blanks_in_the_target_of_a_link_are_read_once(begin: str, blank: str, end: str) -> None:
    text = begin + blank * 65_536 + end
    began_s = time.thread_time()

    likeness(text)

    assert time.thread_time() - began_s < 2


def test_thousands_of_bindings_to_evidence_are_each_read_once() -> None:
    """Each was compared with all others, on the thread that writes: a second for one document."""
    bindings = [
        {"evidence_id": f"e{n}", "binding_type": "context", "required": True, "freshness_ms": n}
        for n in range(5_000)
    ]
    packet = EvidencePacket("e", "crm-sensor", NOW_MS - 1_000, NOW_MS, {"ok": True})
    packets = {each["evidence_id"]: packet for each in bindings}
    document = a_document(MAIL, evidence_bindings=bindings)
    policy = a_policy()
    accepted = accept(document, policy)
    rule = PreconditionsHold(PreconditionsHold.Options(trusted_sources=("crm-sensor",)))
    began_s = time.thread_time()

    faults = meaning_faults(accepted, policy, NOW_MS, packets.get)
    findings = rule.check(accepted.document, facts_for(MAIL, evidence=packets))

    assert time.thread_time() - began_s < 0.5
    assert [fault.path for fault in faults] == [
        f"evidence_bindings[{n}].evidence_id" for n in range(32)
    ]
    assert len(findings) == 100


@pytest.mark.parametrize("end", ["", " password=hunter2x9"])
async def test_of_what_a_tool_says_at_length_the_beginning_is_searched(end: str) -> None:
    """A tool that repeated the answer of its server, of some megabytes, held up the loop for
    seconds."""
    words = "503 of pat@partner.example" + end + " <p>user%20name</p>" * 200_000
    began_s = time.thread_time()

    result = await call_tool(Answers(raises=ToolFailed(words)), CALL)

    assert time.thread_time() - began_s < 0.5
    assert result.explanation.startswith("staging-deploy failed and left nothing behind: ")
    assert "hunter2x9" not in result.explanation


def test_evidence_that_is_named_a_thousand_times_is_read_once() -> None:
    """A packet may have 256 KiB, and reading it each time held the writer for two seconds."""
    asked = {"evidence_ref": "e1", "field": "ok", "operator": "eq", "value": True}
    document = a_document(MAIL, preconditions=[asked] * 1_000)
    packet = EvidencePacket("e1", "crm-sensor", NOW_MS, NOW_MS, {"ok": True})
    policy = a_policy()
    read_ids: list[str] = []

    def looked_up(evidence_id: str) -> EvidencePacket:
        read_ids.append(evidence_id)
        return packet

    assert meaning_faults(accept(document, policy), policy, NOW_MS, looked_up) == ()
    assert read_ids == ["e1"]


def test_a_search_costs_as_much_as_its_text_has_bytes() -> None:
    """RE2 reads bytes: a text of Chinese took three times as long as it was counted for."""
    budgets = range(0, 200_000, 500)
    latin, chinese = (
        [Searches(steps).matches(".*", text) for steps in budgets]
        for text in ("a" * 3_000, "語" * 1_000)
    )
    assert latin == chinese
    assert {True, False} == set(chinese)
