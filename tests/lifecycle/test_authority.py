"""Who may ask for which tool: agent-kernel's order, and where Signoff decides otherwise."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lifecycle.answers import AuthorityOutcome
from lifecycle.authority import Decision, decide, explain, granted_rows, rate_of
from lifecycle.first_gate.gate import Accepted, accept
from lifecycle.policy import (
    ActionType,
    Agent,
    Limits,
    Person,
    Rate,
    Safety,
    Sensitivity,
    ToolPolicy,
    roles_asked,
)
from lifecycle.tier import Tier
from tests.builders import NOW_MS, PROD, a_document, a_policy, a_tool, the_tools

POLICY = a_policy()
WHY = "x" * 15


def a_wish(
    tool: ToolPolicy, justification: str | None = WHY, constraints: dict[str, Any] | None = None
) -> Accepted:
    policy = a_policy(tools=the_tools() | {tool.name: tool})
    target = PROD["target"] | {"constraints": constraints or {}}
    document = a_document(PROD, tool=tool.name, target=target, justification=justification)
    return accept(document, policy)


def a_class(safety: Safety = Safety.WRITE, **changes: Any) -> ToolPolicy:
    given = {"roles": None, "safety": safety} | changes
    return a_tool("probe", Tier.AUTO, ActionType.EXECUTE, **given)


def judged(
    wish: Accepted, *roles: str, uses: tuple[int, ...] = (), now_ms: int = NOW_MS, **attributes: str
) -> Decision:
    proposer = Agent("leila", roles=frozenset(roles), attributes=attributes)
    return decide(proposer, wish, POLICY, uses, now_ms)


@pytest.mark.parametrize(
    ("safety", "roles", "code"),
    [
        (Safety.READ, (), "default_policy_allow"),
        (Safety.WRITE, (), "missing_role"),
        (Safety.WRITE, ("reader",), "missing_role"),
        (Safety.WRITE, ("writer",), "default_policy_allow"),
        (Safety.WRITE, ("admin",), "default_policy_allow"),
        (Safety.DESTRUCTIVE, ("writer",), "missing_role"),
        (Safety.DESTRUCTIVE, ("admin",), "default_policy_allow"),
    ],
)
def test_a_class_asks_for_its_roles(safety: Safety, roles: tuple[str, ...], code: str) -> None:
    assert judged(a_wish(a_class(safety)), *roles).code == code


@pytest.mark.parametrize("roles", [("writer",), ("admin",), ("secrets_reader",), ("deployer",), ()])
@pytest.mark.parametrize("own", [None, frozenset({"deployer"}), frozenset()])
@pytest.mark.parametrize("sensitivity", Sensitivity)
@pytest.mark.parametrize("safety", Safety)
def test_the_roles_that_are_said_to_be_asked_are_the_ones_that_are_judged(
    safety: Safety,
    sensitivity: Sensitivity,
    own: frozenset[str] | None,
    roles: tuple[str, ...],
) -> None:
    tool = a_class(safety, sensitivity=sensitivity, roles=own)
    has_all = all(asked.intersection(roles) for asked in roles_asked(tool))

    assert (judged(a_wish(tool), *roles, tenant="t").code != "missing_role") is has_all


@pytest.mark.parametrize(
    ("own", "roles", "code"),
    [
        (frozenset({"writer"}), ("writer",), "default_policy_allow"),
        (frozenset({"deployer", "writer"}), ("deployer",), "default_policy_allow"),
        (frozenset({"deployer"}), ("admin",), "missing_role"),
        (frozenset(), ("admin",), "missing_role"),
    ],
)
def test_a_tools_own_roles_take_the_place_of_its_class(
    own: frozenset[str], roles: tuple[str, ...], code: str
) -> None:
    assert judged(a_wish(a_class(Safety.DESTRUCTIVE, roles=own)), *roles).code == code


@pytest.mark.parametrize(
    ("own", "wanted"),
    [
        (None, "admin or writer"),
        (frozenset({"b", "a"}), "a or b"),
        (frozenset(), "a role that nobody has"),
    ],
)
def test_a_missing_role_is_told_by_name(own: frozenset[str] | None, wanted: str) -> None:
    (fault,) = judged(a_wish(a_class(Safety.WRITE, roles=own)), "reader").faults
    assert (fault.required, fault.actual) == (wanted, "reader")
    assert wanted in (fault.suggestion or "")


@pytest.mark.parametrize(("roles", "factor"), [(("writer",), 1), (("writer", "service"), 10)])
def test_a_service_may_do_ten_times_as_much_and_nobody_else(
    roles: tuple[str, ...], factor: int
) -> None:
    least = rate_of(a_class(), POLICY)
    proposer = Agent("leila", roles=frozenset(roles))

    assert rate_of(a_class(), POLICY, proposer) == replace(least, count=least.count * factor)


def test_a_tools_own_roles_count_for_reading_and_for_secrets_too() -> None:
    read = a_class(Safety.READ, roles=frozenset({"reader"}))
    assert judged(a_wish(read), "writer").code == "missing_role"
    secrets = a_class(Safety.READ, roles=frozenset({"vault"}), sensitivity=Sensitivity.SECRETS)
    assert judged(a_wish(secrets), "vault").code == "default_policy_allow"
    assert judged(a_wish(secrets), "secrets_reader").code == "missing_role"


@pytest.mark.parametrize(
    ("justification", "outcome"),
    [
        (None, AuthorityOutcome.ASK),
        ("", AuthorityOutcome.ASK),
        (" " * 40, AuthorityOutcome.ASK),
        (f"  {'x' * 14}  ", AuthorityOutcome.ASK),
        ("x" * 15, AuthorityOutcome.ALLOW),
    ],
)
@pytest.mark.parametrize("safety", [Safety.WRITE, Safety.DESTRUCTIVE])
def test_a_missing_justification_is_the_only_thing_that_is_asked_for(
    safety: Safety, justification: str | None, outcome: AuthorityOutcome
) -> None:
    decision = judged(a_wish(a_class(safety), justification), "admin")
    assert decision.outcome is outcome
    if outcome is AuthorityOutcome.ASK:
        assert decision.code == "insufficient_justification"
        assert "15 characters" in (decision.faults[0].suggestion or "")


@pytest.mark.parametrize(
    "sign",
    ["\u200b", "\u00ad", "\u034f", "\u2060", "\u2800", "\u3164", "\ufe0f", "\U000e0041"],
    ids=lambda sign: f"U+{ord(sign):04X}",
)
def test_characters_that_nobody_sees_justify_nothing(sign: str) -> None:
    for unseen in (sign * 15, f"{sign * 20}ok{sign}", "\u0301" * 15):
        decision = judged(a_wish(a_class(), unseen), "writer")
        assert (decision.outcome, decision.code) == (
            AuthorityOutcome.ASK,
            "insufficient_justification",
        )
        assert "that can be seen" in (decision.faults[0].actual or "")


@pytest.mark.parametrize(
    "why", ["Ärger über Öl, ", "क्षमा कीजिए, धन्य", "\u200b" + "x" * 15, "Grüße 👍🏽👍🏽👍🏽👍🏽ab"]
)
def test_marks_that_belong_to_a_script_count_in_a_justification(why: str) -> None:
    assert judged(a_wish(a_class(), why + "."), "writer").outcome is AuthorityOutcome.ALLOW


def test_reading_needs_no_justification_unless_it_reads_secrets() -> None:
    assert judged(a_wish(a_class(Safety.READ), None)).outcome is AuthorityOutcome.ALLOW
    secrets = a_class(Safety.READ, sensitivity=Sensitivity.SECRETS)
    assert judged(a_wish(secrets, None), "secrets_reader").outcome is AuthorityOutcome.ASK


def test_who_lacks_the_role_is_denied_and_not_asked() -> None:
    decision = judged(a_wish(a_class(), None))
    assert decision.outcome is AuthorityOutcome.DENY
    assert [f.code for f in decision.faults] == ["missing_role", "insufficient_justification"]


@pytest.mark.parametrize("sensitivity", [Sensitivity.PII, Sensitivity.PCI])
def test_personal_and_payment_data_need_a_tenant(sensitivity: Sensitivity) -> None:
    wish = a_wish(a_class(sensitivity=sensitivity))
    assert judged(wish, "writer").code == "missing_tenant_attribute"
    assert judged(wish, "writer", tenant="").code == "missing_tenant_attribute"
    assert judged(wish, "writer", tenant="acme").code == "default_policy_allow"


@pytest.mark.parametrize(
    ("asked", "service", "rows"),
    [(None, False, 50), (None, True, 500), (10, False, 10), (0, False, 0), (-5, False, 0),
     (51, False, 50), (501, True, 500)],
)  # fmt: skip
def test_rows_are_capped(asked: int | None, service: bool, rows: int) -> None:
    wish = a_wish(a_class(), constraints={} if asked is None else {"max_rows": asked})
    proposer = Agent("leila", roles=frozenset({"writer", "service"} if service else {"writer"}))
    assert granted_rows(proposer, wish.document) == rows


@pytest.mark.parametrize("asked", ["10", "abc", 1.5, True, None, [], {}])
def test_a_limit_that_is_no_whole_number_is_refused(asked: Any) -> None:
    wish = a_wish(a_class(), constraints={"max_rows": asked})
    decision = judged(wish, "writer")
    assert (decision.outcome, decision.code) == (AuthorityOutcome.DENY, "invalid_constraint")
    assert decision.faults[0].path == "target.constraints.max_rows"


# ----------------------------------------------------------------------------------------- rate


def test_a_use_that_is_exactly_as_old_as_the_span_is_out() -> None:
    wish = a_wish(a_class(rate=Rate(2, 60)))
    full = (NOW_MS - 59_999, NOW_MS - 1)
    assert judged(wish, "writer", uses=full).code == "rate_limited"
    assert judged(wish, "writer", uses=(NOW_MS - 60_000, NOW_MS - 1)).code == "default_policy_allow"


@pytest.mark.parametrize(
    ("uses", "wait_s"),
    [((-59_999, -1), 1), ((-30_000, -1), 30), ((-1, -1), 60), ((-50_000, -30_000, -1), 30)],
)
def test_the_proposer_is_told_when_to_come_again(uses: tuple[int, ...], wait_s: int) -> None:
    wish = a_wish(a_class(rate=Rate(2, 60)))
    decision = judged(wish, "writer", uses=tuple(NOW_MS + use for use in uses))
    assert (decision.code, decision.retry_after_s) == ("rate_limited", wait_s)
    later = NOW_MS + wait_s * 1000
    again = judged(wish, "writer", uses=tuple(NOW_MS + use for use in uses), now_ms=later)
    assert again.outcome is AuthorityOutcome.ALLOW


def test_the_rate_is_judged_only_where_all_else_holds() -> None:
    wish = a_wish(a_class(rate=Rate(0, 60)), None)
    assert [f.code for f in judged(wish, "writer").faults] == ["insufficient_justification"]
    assert judged(a_wish(a_class(rate=Rate(0, 60))), "writer").code == "rate_limited"


def test_who_says_too_little_of_why_in_a_proposal_is_told_the_field() -> None:
    (fault,) = judged(a_wish(a_class(), None), "writer").faults
    assert fault.path == "justification"
    assert "Say in `justification`" in (fault.suggestion or "")


def test_the_default_rate_is_a_minutes_and_ten_times_that_for_a_service() -> None:
    rates = {safety: rate_of(a_class(safety), POLICY) for safety in Safety}
    assert {safety.value: rate.count for safety, rate in rates.items()} == {
        "read": 60,
        "write": 10,
        "destructive": 2,
    }
    assert {rate.per_s for rate in rates.values()} == {60}
    service = Agent("leila", roles=frozenset({"service"}))
    assert rate_of(a_class(), POLICY, service) == Rate(100, 60)
    assert rate_of(a_class(rate=Rate(3, 5)), POLICY, service) == Rate(3, 5)
    partly = replace(POLICY, limits=Limits(rate={Safety.READ: 1}))
    assert rate_of(a_class(), partly) == Rate(10, 60)


# -------------------------------------------------------------------------------------- explain


def test_an_explanation_lists_every_condition_in_the_order_of_judging() -> None:
    tool = a_class(Safety.DESTRUCTIVE, sensitivity=Sensitivity.PII)
    document = a_wish(tool, None).document
    explanation = explain(Person("cal"), tool, document)
    assert explanation.rule_name == "destructive-roles"
    assert explanation.reason_code == "missing_role"
    assert [(c.name, c.held) for c in explanation.conditions] == [
        ("roles", False),
        ("min_justification", False),
        ("tenant_attribute", False),
        ("max_rows", True),
    ]
    assert granted_rows(Person("cal"), document) == 50


@given(
    st.sampled_from(Safety), st.sampled_from(Sensitivity),
    st.sets(st.sampled_from(["reader", "writer", "admin", "secrets_reader"])),
    st.text(max_size=20), st.lists(st.integers(-70_000, 0), max_size=70),
)  # fmt: skip
def test_a_decision_and_its_explanation_never_disagree(
    safety: Safety, sensitivity: Sensitivity, roles: set[str], why: str, uses: list[int]
) -> None:
    tool = a_class(safety, sensitivity=sensitivity)
    document = a_wish(tool).document.model_copy(update={"justification": why})
    wish = replace(a_wish(tool), document=document)
    decision = judged(wish, *roles, uses=tuple(NOW_MS + use for use in uses))
    explanation = explain(Agent("leila", roles=frozenset(roles)), tool, document)
    if explanation.denied:
        assert decision.code == explanation.reason_code
    else:
        assert decision.code in ("default_policy_allow", "rate_limited")
    assert (decision.outcome is AuthorityOutcome.ALLOW) is (not decision.faults)
