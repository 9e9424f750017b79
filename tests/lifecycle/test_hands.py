"""Since when each account of the config is whose it is, as the store keeps it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from lifecycle.hands import Hands, take_hands
from lifecycle.policy import Person, Policy
from lifecycle.proposal import ActorKind, Identity

ANA, BEN = (Identity(ActorKind.PERSON, name) for name in ("ana", "ben"))


class _Flags:
    def __init__(self) -> None:
        self.kept: dict[str, Any] = {}

    def get(self, name: str) -> Any:
        return self.kept.get(name)

    def put(self, name: str, value: Any) -> None:
        self.kept[name] = value


class _Tx:
    """What of a unit is used here: the flags."""

    def __init__(self) -> None:
        self.flags = _Flags()


def named(accounts: Mapping[str, str], surface: str = "discord") -> Policy:
    """Return a policy that names these accounts, by person."""
    people = {name: Person(name, {surface: account}) for name, account in accounts.items()}
    return Policy("pol1_", {}, people)


def taken(tx: _Tx, policy: Policy, now_ms: int, before: Policy | None = None) -> Hands:
    return take_hands(tx, before or policy, policy, now_ms)  # type: ignore[arg-type]


def test_an_account_that_never_changed_hands_is_whose_it_is_since_ever() -> None:
    tx = _Tx()
    taken(tx, named({"ana": "1"}), 1_000)
    hands = taken(tx, named({"ana": "1"}), 2_000)
    assert hands.before("discord", "1", 5, 3_000) is None
    assert hands.state_of("discord", "1") == 0


def test_what_was_given_before_an_account_changed_hands_is_of_whoever_had_it_then() -> None:
    tx = _Tx()
    hands = taken(tx, named({"ben": "1"}), 1_000, before=named({"ana": "1"}))
    assert hands.before("discord", "1", 999, 2_000) == {"1": ANA}
    assert hands.before("discord", "1", 1_000, 2_000) is None
    assert hands.former("discord", "1") == ANA
    assert hands.state_of("discord", "1") > 0
    third = taken(tx, named({"ana": "1"}), 3_000)
    assert third.before("discord", "1", 2_000, 4_000) == {"1": BEN}


def test_what_was_given_before_others_had_an_account_in_between_is_nobodys() -> None:
    """A platform may tell no more than since when it can have been given: it may be the others'."""
    tx = _Tx()
    taken(tx, named({"ben": "1"}), 1_000, before=named({"ana": "1"}))
    hands = taken(tx, named({"ana": "1"}), 3_000)
    assert hands.before("discord", "1", 500, 4_000) == {}
    assert hands.before("discord", "1", 3_000, 4_000) is None


def test_an_account_that_nobody_had_is_nobodys_before() -> None:
    tx = _Tx()
    taken(tx, named({"ana": "1"}), 1_000)
    hands = taken(tx, named({"ana": "1", "ben": "2"}), 2_000)
    assert hands.before("discord", "2", 1_500, 3_000) == {}
    assert hands.before("discord", "1", 1_500, 3_000) is None
    assert hands.former("discord", "2") is None


def test_it_does_not_change_hands_where_a_config_corrects_its_team() -> None:
    tx = _Tx()
    taken(tx, named({"ana": "T1/U1"}, "slack"), 1_000)
    hands = taken(tx, named({"ana": "T2/U1"}, "slack"), 2_000)
    assert hands.before("slack", "U1", 5, 3_000) is None


def test_what_is_given_after_the_clock_was_set_back_counts_and_what_was_before_does_not() -> None:
    tx = _Tx()
    taken(tx, named({"ben": "1"}), 9_000_000, before=named({"ana": "1"}))
    hands = taken(tx, named({"ben": "1"}), 1_000_000)
    assert hands.before("discord", "1", 1_000_001, 1_000_002) is None
    assert hands.before("discord", "1", 8_999_000, 1_000_002) == {"1": ANA}
    assert hands.before("discord", "1", 999_000, 1_000_002) == {"1": ANA}


def test_whoever_hears_of_a_change_later_takes_it_from_then_on() -> None:
    """What is given while the policy is written down is of whoever had the account."""
    tx = _Tx()
    before = taken(tx, named({"ana": "1"}), 500)
    hands = taken(tx, named({"ben": "1"}), 1_000).from_now(before, 1_700)
    assert hands.before("discord", "1", 1_500, 2_000) == {"1": ANA}
    assert hands.changed_ms == 1_700


@pytest.mark.parametrize("written", [7, "x", [], {}, {"state": -1, "changed_ms": 0, "of": {}}, {
    "state": 1, "changed_ms": 0, "of": {"discord": {"1": [["a", 0, {}]]}}}])  # fmt: skip
def test_what_somebody_wrote_over_tells_of_nobody_before(written: Any) -> None:
    tx = _Tx()
    tx.flags.kept["hands"] = written
    hands = taken(tx, named({"ana": "1"}), 1_000)
    assert hands.before("discord", "1", 999, 2_000) == {}
    assert hands.state_of("discord", "1") > 0
    assert taken(tx, named({"ana": "1"}), 3_000).before("discord", "1", 2_000, 3_000) is None


def test_what_came_under_an_earlier_owner_stays_earlier_although_the_flag_was_deleted() -> None:
    """Acts that wait keep the state in which they came: numbers that began again would pass it."""
    tx = _Tx()
    then = taken(tx, named({"ben": "1"}), 1_000, before=named({"ana": "1"}))
    tx.flags.kept.clear()
    taken(tx, named({"ben": "1"}), 2_000)
    hands = taken(tx, named({"ana": "1"}), 3_000)
    assert hands.state_of("discord", "1") > then.state


def test_of_each_account_the_last_owners_are_kept_and_written_once() -> None:
    tx = _Tx()
    taken(tx, named({"ana": "1"}), 0)
    for number in range(1, 40):
        taken(tx, named({("ana", "ben")[number % 2]: "1"}), number)
    kept = tx.flags.kept["hands"]
    assert len(kept["of"]["discord"]["1"]) == 8
    taken(tx, named({"ben": "1"}), 100)
    assert tx.flags.kept["hands"] is kept
