"""Who may approve, who may stop, and who counts."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lifecycle.counting import approvals
from lifecycle.policy import Policy
from lifecycle.proposal import ActorKind, Identity
from lifecycle.quorum import eligible, may_approve, may_stop, may_stop_anything, within_reach
from lifecycle.review import Decision, Review
from tests.builders import (
    ANA,
    BEN,
    CAL,
    LEILA,
    NOUR,
    OLGA,
    a_policy,
    a_proposal,
    the_people,
    the_tools,
)

PROD = the_tools()["production-deploy"]
POLICY = a_policy()
PROPOSAL = a_proposal(tool="production-deploy")


def owned_by_an_approver(*, solo: bool) -> Policy:
    people = the_people()
    people["olga"] = replace(people["olga"], groups=frozenset({"approvers"}))
    return a_policy(people=people, solo_operator=solo)


def a_review(person: str, decision: Decision = Decision.APPROVE, void: str | None = None) -> Review:
    return Review("p1", person, decision, "", 0, "terminal", void_why=void)


def code(objection: tuple[str, str] | None) -> str | None:
    return objection[0] if objection else None


@pytest.mark.parametrize(
    ("actor", "person", "expected"),
    [
        (LEILA, "ana", None),
        (LEILA, "ben", None),
        (LEILA, "cal", "not_a_reviewer"),
        (LEILA, "olga", "not_a_reviewer"),
        (LEILA, "nobody", "not_a_reviewer"),
        (LEILA, "nour", "not_a_reviewer"),
        (LEILA, "leila", "own_proposal"),
        (ANA, "ana", "own_proposal"),
        (CAL, "cal", "own_proposal"),
        (ANA, "ben", None),
    ],
)
def test_a_reviewer_approves_what_others_propose(
    actor: Identity, person: str, expected: str | None
) -> None:
    assert code(may_approve(POLICY, PROD, actor, person)) == expected


def test_the_owner_approves_only_as_a_solo_operator_and_never_the_own_proposal() -> None:
    assert (
        code(may_approve(owned_by_an_approver(solo=False), PROD, LEILA, "olga")) == "owner_of_agent"
    )
    assert may_approve(owned_by_an_approver(solo=True), PROD, LEILA, "olga") is None
    assert code(may_approve(owned_by_an_approver(solo=True), PROD, OLGA, "olga")) == "own_proposal"
    assert may_approve(owned_by_an_approver(solo=False), PROD, NOUR, "olga") is None


def test_another_group_of_reviewers_takes_the_place_of_the_approvers() -> None:
    tool = replace(PROD, reviewers="operators")
    assert may_approve(POLICY, tool, LEILA, "ana") is None
    assert code(may_approve(POLICY, tool, LEILA, "ben")) == "not_a_reviewer"
    assert eligible(POLICY, replace(PROD, reviewers="no-such-group"), "leila") == frozenset()


@pytest.mark.parametrize(
    ("actor", "person", "allowed"),
    [
        (LEILA, "ana", True),
        (LEILA, "ben", True),
        (LEILA, "olga", True),
        (NOUR, "olga", False),
        (LEILA, "cal", False),
        (CAL, "cal", False),
        (LEILA, "leila", False),
        (LEILA, "nobody", False),
    ],
)
def test_reviewers_operators_and_the_owner_stop(
    actor: Identity, person: str, allowed: bool
) -> None:
    assert code(may_stop(POLICY, PROD, actor, person)) == (None if allowed else "not_a_reviewer")


def test_an_operator_who_is_no_reviewer_stops_and_does_not_approve() -> None:
    people = the_people()
    people["cal"] = replace(people["cal"], groups=frozenset({"operators"}))
    policy = a_policy(people=people)
    assert may_stop(policy, PROD, LEILA, "cal") is None
    assert code(may_approve(policy, PROD, LEILA, "cal")) == "not_a_reviewer"


def test_whoever_has_left_the_config_stops_nothing_whoever_they_owned() -> None:
    policy = a_policy(people={"ana": the_people()["ana"]})
    assert policy.owner_of("leila") == "olga"
    assert code(may_stop(policy, PROD, LEILA, "olga")) == "not_a_reviewer"
    assert not may_stop_anything(policy, "olga")
    assert may_stop_anything(POLICY, "olga")


def test_one_person_counts_once_and_only_who_may_review_counts() -> None:
    reviews = [a_review("ana"), a_review("ana"), a_review("cal"), a_review("ben")]
    assert approvals(reviews, POLICY, PROPOSAL) == ["ana", "ben"]
    assert approvals(reviews, POLICY, PROPOSAL, {"ben"}) == ["ana"]
    assert approvals([a_review("ana", void="taken back")], POLICY, PROPOSAL) == []
    assert approvals([a_review("ana", Decision.REJECT)], POLICY, PROPOSAL) == []


@given(
    st.sampled_from([LEILA, NOUR, ANA, BEN, CAL, OLGA]),
    st.sampled_from(["ana", "ben", "cal", "olga", "dee", "leila", "nour", "x"]),
    st.booleans(),
)
def test_who_is_eligible_is_exactly_who_may_approve(
    actor: Identity, person: str, solo: bool
) -> None:
    policy = owned_by_an_approver(solo=solo)
    may = may_approve(policy, PROD, actor, person) is None
    assert may is (person in eligible(policy, PROD, actor.id))
    assert may_approve(policy, PROD, Identity(ActorKind.PERSON, person), person) is not None


@given(st.lists(st.sampled_from(["ana", "ben", "cal"])), st.sets(st.sampled_from(["ana", "ben"])))
def test_no_pile_of_approvals_counts_more_than_its_people(names: list[str], lost: set[str]) -> None:
    who = [name for name in dict.fromkeys(names) if name in {"ana", "ben"} - lost]
    assert approvals([a_review(name) for name in names], POLICY, PROPOSAL, lost) == who


def test_auto_approval_stands_for_one_and_never_for_people() -> None:
    policy = a_policy(people={}, orchestrator="nour")
    assert within_reach(policy, PROD, "leila", 1, needs_people=False)
    assert not within_reach(policy, PROD, "leila", 2, needs_people=False)
    assert not within_reach(policy, PROD, "leila", 1, needs_people=True)
    assert not within_reach(policy, PROD, "nour", 1, needs_people=False)
    assert within_reach(policy, PROD, "leila", 0, needs_people=True)
