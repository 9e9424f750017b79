"""Cases F04, F05 and M08 at the rules: only an explicit pass of all nine is a pass."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from lifecycle.checking.sentinel_run import Sentinel
from lifecycle.policy import Level
from lifecycle.sentinel import LoadedRule, Rule
from lifecycle.verdict import PASSED
from sentinel_rules import RuleLoadError, load_rules
from tests.builders import MAIL, PROD, a_document, the_rules
from tests.checking import facts_for, found, read, the_sentinel, verdict_on
from tests.roads import adopted
from tests.world import World


@pytest.fixture
def sixty_seconds() -> Iterator[Callable[[], None]]:
    """What a hanging rule waits for; it comes at the end of the test."""
    over = threading.Event()
    yield lambda: over.wait(60) and None
    over.set()


def broken(rule: LoadedRule, answer: Callable[[], Any]) -> LoadedRule:
    """The rule with another mind."""
    kind: type[Rule] = type(rule.rule)
    fields = {"check": lambda self, proposal, facts: answer(), "applies_to": lambda *_: True}
    odd = type("Odd", (kind,), fields)(rule.options)
    return LoadedRule(odd, rule.level, rule.options)


def raises_key_error() -> Any:
    raise KeyError("k-1234567890")


async def test_F05_what_goes_wrong_in_a_rule_never_counts_as_passed(
    sixty_seconds: Callable[[], None],
) -> None:
    rules = list(the_sentinel().rules)
    rules[3] = broken(rules[3], raises_key_error)
    rules[4] = broken(rules[4], lambda: None)
    rules[5] = broken(rules[5], lambda: (sixty_seconds(), PASSED)[1])
    rules[6] = broken(rules[6], lambda: "yes, fine")

    verdict = await Sentinel(rules).check(read(MAIL), facts_for(MAIL), policy_digest="pol1_x")

    assert [(fault.rule, fault.code, fault.level) for fault in verdict.faults()] == [
        ("amount_within_limit", "rule_error", "hard"),
        ("secrets_absent", "rule_error", "hard"),
        ("blast_radius_bounded", "rule_timeout", "hard"),
        ("reversible_when_required", "rule_error", "hard"),
    ]
    assert len(verdict.results) == 9
    assert not verdict.passed
    assert "k-1234567890" not in str(verdict.faults())


SEARCH = MAIL | {"tool": "search", "action_type": "read", "parameters": {"query": "terms"}}
#: What a rule does instead of judging, by its number; the code that this is; and its rule.
ODD: dict[int, tuple[str, str]] = {
    4: ("amount_within_limit", "rule_error"),
    5: ("secrets_absent", "rule_error"),
    6: ("blast_radius_bounded", "rule_timeout"),
    7: ("reversible_when_required", "rule_error"),
}


async def with_odd(world: World, numbers: list[int], hang: Callable[[], None]) -> None:
    """Put a Sentinel in force whose rules of these numbers do what the case says."""
    minds: dict[int, Callable[[], Any]] = {
        4: raises_key_error,
        5: lambda: None,
        6: lambda: (hang(), PASSED)[1],
        7: lambda: "yes, fine",
    }
    rules = list(load_rules(world.workflow.policy.rules))
    for number in numbers:
        rules[number - 1] = broken(rules[number - 1], minds[number])
    await adopted(world.workflow, world.workflow.policy, Sentinel(rules))


@pytest.mark.parametrize("numbers", [[4], [5], [6], [7], [4, 5, 6, 7]], ids=str)
@pytest.mark.parametrize("base", [SEARCH, MAIL, PROD], ids=["AUTO", "PROPOSE", "CONFIRM"])
async def test_F05_what_such_a_rule_judged_goes_nowhere(
    roomy: World, sixty_seconds: Callable[[], None], base: dict[str, Any], numbers: list[int]
) -> None:
    await with_odd(roomy, numbers, sixty_seconds)

    answer = await roomy.submits(base, proposal_id="p1")
    reply = await roomy.approves("ana", "p1")
    await roomy.passes(minutes=20)

    assert [(fault.rule, fault.code) for fault in answer.errors] == [ODD[n] for n in numbers]
    assert (answer.state, answer.reason) == ("rejected", ODD[numbers[0]][0])
    assert (await roomy.proposal("p1")).state == "rejected"
    assert reply.code == "already_decided"
    assert all(not tool.calls for tool in roomy.toolbox.tools.values())
    assert await roomy.trail("p1") == ["submitted", "reject", "ignored"]


@pytest.mark.parametrize(
    ("numbers", "retry"), [([6], "later"), ([4], "after_change"), ([4, 6], "after_change")]
)
async def test_F05_what_a_rule_had_no_time_for_may_be_sent_again_later(
    roomy: World, sixty_seconds: Callable[[], None], numbers: list[int], retry: str
) -> None:
    await with_odd(roomy, numbers, sixty_seconds)

    answer = await roomy.submits(MAIL)

    assert answer.as_json()["retry"] == retry


async def test_F05_no_time_for_one_rule_excuses_nothing_that_another_one_finds(
    roomy: World, sixty_seconds: Callable[[], None]
) -> None:
    await with_odd(roomy, [6], sixty_seconds)

    answer = await roomy.submits(MAIL, parameters=MAIL["parameters"] | {"to": "pat@evil.test"})

    assert {fault.code for fault in answer.errors} >= {"rule_timeout", "domain_not_allowed"}
    assert answer.as_json()["retry"] == "after_change"


@pytest.mark.parametrize("rule", sorted(the_rules()))
def test_F04_without_one_of_the_nine_nothing_starts(rule: str) -> None:
    eight = {name: settings for name, settings in the_rules().items() if name != rule}

    with pytest.raises(RuleLoadError, match=rule) as caught:
        load_rules(eight)

    assert [problem.path for problem in caught.value.problems] == [("sentinel",)]


def test_F04_with_no_rules_nothing_starts() -> None:
    with pytest.raises(RuleLoadError) as caught:
        load_rules({})

    assert len(caught.value.problems) == 9


M08 = {
    "headers": {"Authorization": "Bearer abc.def"},
    "dsn": "postgres://u:pw@h/d",
    "api_key": "k-1234567890",
    "note": "api key rotation plan",
}


def test_M08_every_secret_is_found_and_none_repeated() -> None:
    document = a_document(PROD, parameters=M08)

    assert found(document) == {
        ("secrets_absent", "secret_found", "parameters.headers.Authorization"),
        ("secrets_absent", "secret_found", "parameters.dsn"),
        ("secrets_absent", "secret_found", "parameters.api_key"),
    }


@pytest.mark.parametrize(
    "parameters",
    [
        {"password": "x"},
        {"db": {"PGPASSWORD": ["swordfish"]}},
        {"token": 1234567890},
        {"clientSecret": {"value": "swordfish"}},
        {"pass\u200bword": "swordfish"},
        {"body": "the password: hunter2"},
        {"body": "curl -H 'Authorization: Bearer abc.def'"},
        {"body": "https://u:pw@h/d"},
        {"body": "https%3A%2F%2Fu%3Apw%40h%2Fd"},
        {"body": "gh\u200bp_" + "a1B2" * 9},
        {"body": "ghp_" + "a1B2" * 9},
        {"body": "xoxb-123456789012-abcdefghijkl"},
        {"body": "-----BEGIN " + "RSA PRIVATE KEY-----\nabc\n"},
        {"items": ["eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0." + "c2lnbmF0dXJl"]},
        {"password=hunter2": 1},
        {"env": [{"Name": "DB_PASSWORD", "VALUE": "hi4x"}]},
        {"subject": "=?utf-8?Q?gh?= =?utf-8?B?cF8=?=" + "a1B2" * 9},
    ],
)
def test_M08_a_secret_is_found_wherever_it_hides(parameters: dict[str, Any]) -> None:
    codes = {code for _, code, _ in found(a_document(PROD, parameters=parameters))}

    assert "secret_found" in codes


@pytest.mark.parametrize(
    "parameters",
    [
        {"note": "api key rotation plan"},
        {"note": "basic training for new bearers, token economy"},
        {"api_key": "${PAYMENTS_KEY}"},
        {"password": None},
        {"password": ""},
        {"has_token": True},
        {"max_tokens": 100},
        {"next_page_token": "b2Zmc2V0PTEw"},
        {"body": "https://shop.example:8443/@pat/a?b=c"},
        {"sha256": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"},
    ],
)
def test_M08_words_about_secrets_are_none(parameters: dict[str, Any]) -> None:
    assert found(a_document(PROD, parameters=parameters)) == set()


def test_M08_a_quote_left_open_hides_no_secret_in_another_text() -> None:
    parameters = {"a": 'password: "${x} ', "b": "password=hunter2"}

    assert found(a_document(PROD, parameters=parameters)) == {
        ("secrets_absent", "secret_found", "parameters.b")
    }


@pytest.mark.parametrize("value", ["hunter2", {"a": ["hunter2"]}])
def test_M08_a_precondition_asks_for_no_credential(value: Any) -> None:
    condition = {"field": "db.password", "operator": "eq", "value": value, "evidence_ref": "e1"}
    secrets = [
        path
        for _, code, path in found(a_document(PROD, preconditions=[condition]))
        if code == "secret_found"
    ]

    assert [path.partition(".a[")[0] for path in secrets] == ["preconditions[0].value"]


def test_M08_texts_outside_the_parameters_count() -> None:
    document = a_document(PROD, justification="Use password=hunter2 for the rollout")

    assert found(document) == {("secrets_absent", "secret_found", "justification")}


def test_a_rule_that_is_advisory_lets_its_findings_be_seen_and_no_more() -> None:
    rules = dict(the_rules())
    rules["secrets_absent"] = type(rules["secrets_absent"])(Level.ADVISORY)
    verdict = verdict_on(a_document(PROD, parameters=M08), Sentinel(load_rules(rules)))

    assert verdict.passed
    assert not verdict.needs_reason
    assert {fault.level for fault in verdict.faults()} == {"advisory"}
