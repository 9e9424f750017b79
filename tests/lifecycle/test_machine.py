"""The lifecycle table: thirty pairs, six legal, and who may pull each at each tier."""

from __future__ import annotations

import itertools

import pytest

from lifecycle.errors import IllegalTransition
from lifecycle.machine import checked_move, next_state
from lifecycle.state import TRANSITIONS, State, Trigger
from lifecycle.tier import PULLERS, Puller, Tier, pullers

LEGAL = {(row.source, row.trigger): row.target for row in TRANSITIONS}
PAIRS = list(itertools.product(State, Trigger))
S, T, P = State, Trigger, Puller
STOPPERS = {P.SENTINEL, P.PERSON, P.PROPOSER, P.CLOCK}
#: Written out once more by hand, so that a slip in the table is seen.
EXPECTED = {
    Tier.AUTO: ({P.SENTINEL}, STOPPERS),
    Tier.AUTO_PLUS: ({P.SENTINEL}, STOPPERS),
    Tier.PROPOSE: ({P.ORCHESTRATOR, P.PERSON}, STOPPERS | {P.ORCHESTRATOR}),
    Tier.CONFIRM: ({P.PERSON}, STOPPERS),
}


def test_there_are_thirty_pairs_and_six_are_legal() -> None:
    assert len(PAIRS) == 30
    assert len(LEGAL) == 6


@pytest.mark.parametrize(("state", "trigger"), PAIRS)
def test_only_the_edges_of_the_lifecycle_exist(state: State, trigger: Trigger) -> None:
    if (state, trigger) in LEGAL:
        assert next_state(state, trigger) is LEGAL[state, trigger]
        return
    with pytest.raises(IllegalTransition, match="cannot"):
        next_state(state, trigger)


@pytest.mark.parametrize("tier", EXPECTED)
@pytest.mark.parametrize(("state", "trigger"), PAIRS)
def test_each_tier_says_who_may_pull_what(tier: Tier, state: State, trigger: Trigger) -> None:
    opener, stoppers = EXPECTED[tier]
    allowed = {
        (S.PENDING, T.SENTINEL_APPROVE): {P.SENTINEL},
        (S.PENDING, T.REJECT): stoppers,
        (S.SENTINEL_APPROVED, T.EXECUTE): opener,
        (S.SENTINEL_APPROVED, T.REJECT): stoppers,
        (S.EXECUTING, T.COMPLETE): {P.CLOCK, P.PERSON, P.TOOL},
        (S.EXECUTING, T.ROLL_BACK): {P.PERSON, P.SENTINEL, P.TOOL},
    }

    assert pullers(tier, state, trigger) == allowed.get((state, trigger), set())


@pytest.mark.parametrize(("state", "trigger"), PAIRS)
def test_what_is_blocked_can_only_be_rejected(state: State, trigger: Trigger) -> None:
    if pullers(Tier.BLOCK, state, trigger):
        assert trigger is Trigger.REJECT


@pytest.mark.parametrize("tier", Tier)
@pytest.mark.parametrize(("state", "trigger"), PAIRS)
def test_the_door_lets_nobody_pull_beyond_the_table(
    tier: Tier, state: State, trigger: Trigger
) -> None:
    for puller in Puller:
        if puller in pullers(tier, state, trigger):
            assert checked_move(state, trigger, tier, puller) is LEGAL[state, trigger]
        else:
            with pytest.raises(IllegalTransition):
                checked_move(state, trigger, tier, puller)


def test_every_tier_has_a_row_of_pullers() -> None:
    assert set(PULLERS) == set(Tier)
