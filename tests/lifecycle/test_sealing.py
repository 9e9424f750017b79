"""What is kept under a seal is what was kept, or it is nobody's."""

from __future__ import annotations

from typing import Any

import pytest

from lifecycle.permit import KeyRing
from lifecycle.sealing import holds, sealed

KEYS = {"old": b"o" * 32, "new": b"n" * 32}
OLD, BOTH, NEW = KeyRing({"old": KEYS["old"]}, "old"), KeyRing(KEYS, "new"), KeyRing(KEYS, "old")
EVENT = ("discord", "e1", "c:1001", {"text": "approve p1", "user": "1001"})


def test_a_seal_holds_for_what_it_was_made_of_in_any_order_of_its_fields() -> None:
    other_order = (*EVENT[:3], {"user": "1001", "text": "approve p1"})
    assert holds(OLD, sealed(OLD, *EVENT), *other_order)


@pytest.mark.parametrize("place", range(4))
def test_whatever_is_changed_breaks_it(place: int) -> None:
    changed: list[Any] = list(EVENT)
    changed[place] = {"text": "approve p2"} if place == 3 else "other"
    assert not holds(OLD, sealed(OLD, *EVENT), *changed)


def test_it_outlives_a_new_key_as_long_as_the_old_one_is_kept() -> None:
    seal = sealed(OLD, *EVENT)
    assert holds(BOTH, seal, *EVENT)
    assert not holds(KeyRing({"new": KEYS["new"]}, "new"), seal, *EVENT)
    assert not holds(BOTH, seal.replace("old.", "new."), *EVENT)
    assert sealed(NEW, *EVENT) == seal


@pytest.mark.parametrize(
    "seal", [None, 5, "", ".", "old", "old.", "old.é", "old.\ud800", "gone.00", ["old"]]
)
def test_what_is_no_seal_holds_nothing(seal: Any) -> None:
    assert not holds(OLD, seal, *EVENT)
