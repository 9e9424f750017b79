"""Every break in an exported trail is told, each with its entry."""

from __future__ import annotations

from typing import Any

from lifecycle.audit import GENESIS, AuditEvent, broken_links, chained


def trail(*numbers: int) -> list[dict[str, Any]]:
    """A chain whose hashes hold, with these numbers."""
    entries: list[dict[str, Any]] = []
    for seq in numbers:
        before = entries[-1]["entry_hash"] if entries else GENESIS
        entry, _ = chained(AuditEvent("2026-03-02T12:00:00.000Z", f"kind {seq}"), seq, before)
        entries.append(entry.as_json())
    return entries


def test_a_whole_trail_has_no_broken_link_whatever_entry_is_its_anchor() -> None:
    whole = trail(1, 2, 3)

    assert broken_links(whole) == []
    for entry in whole:
        assert broken_links(whole, entry["entry_hash"]) == []
    assert broken_links([]) == []
    assert broken_links([], GENESIS) == []


def test_a_trail_that_skips_a_number_is_broken_although_every_hash_fits() -> None:
    assert broken_links(trail(1, 3, 4)) == ["entry 3: expected entry 2 here"]
    assert broken_links(trail(2, 3)) == ["entry 2: expected entry 1 here"]
    assert broken_links(trail(1, 1)) == ["entry 1: expected entry 2 here"]


def test_an_entry_that_is_taken_out_breaks_the_number_and_the_link() -> None:
    first, _, third = trail(1, 2, 3)

    assert broken_links([first, third]) == [
        "entry 3: expected entry 2 here",
        "entry 3: prev_hash does not name the entry before it",
    ]


def test_an_entry_that_is_changed_no_longer_fits_its_hash_and_the_rest_is_looked_at() -> None:
    whole = trail(1, 2, 3)
    for changed in whole[:2]:
        changed["reason"] = "expired"

    assert broken_links(whole) == [
        f"entry {seq}: its content does not fit its entry_hash" for seq in (1, 2)
    ]


def test_a_number_that_is_none_breaks_only_its_own_entry() -> None:
    first, second, third = trail(1, 2, 3)

    assert broken_links([first, second | {"seq": "two"}, third]) == [
        "entry two: expected entry 2 here",
        "entry two: its content does not fit its entry_hash",
    ]


def test_a_content_that_has_no_canonical_form_fits_no_hash() -> None:
    (entry,) = trail(1)

    assert broken_links([entry | {"reason": "\ud800"}]) == [
        "entry 1: its content does not fit its entry_hash"
    ]


def test_a_cut_tail_is_seen_by_the_anchor_that_it_has_lost() -> None:
    *kept, last = trail(1, 2, 3)

    (problem,) = broken_links(kept, last["entry_hash"])
    assert problem.startswith(f"no entry has the anchored hash {last['entry_hash']}")
