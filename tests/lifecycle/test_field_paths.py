"""Fields are found under whatever name leads to them, and no name is remembered whole."""

from __future__ import annotations

import tracemalloc

from lifecycle.text.field_paths import fields_named


def test_long_names_of_fields_that_hold_others_fill_no_memory() -> None:
    """Four thousand were kept whole, a quarter of a megabyte each."""
    tracemalloc.start()
    try:
        for number in range(20):
            long_name = f"{number}" + "a" * 60_000 + "😀"
            assert list(fields_named({long_name: {"role": 1}}, ["role"]))
        kept_bytes, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert kept_bytes < 1_000_000


def test_a_field_is_found_behind_the_number_at_the_end_of_a_long_name() -> None:
    behind = "x" * 60_000 + ".users.0"

    assert (behind, "role") in list(fields_named({behind: {"role": 1}}, ["users.role"]))
