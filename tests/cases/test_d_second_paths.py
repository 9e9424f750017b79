"""Case D08: one value names one path, for a tool may take it for several."""

from __future__ import annotations

import pytest

from tests.cases.test_d_paths import deletion
from tests.checking import found


@pytest.mark.parametrize("name", ["paths", "what"])
@pytest.mark.parametrize(
    "behind",
    [
        *(" /etc/passwd", ",/etc", "; ../x", ":/etc", "|~/x", " ~root/x", ", .."),
        *(" /.ssh/id", " //etc", ",/", " /", ",/ x", ">/etc/x", "&/etc", " ~root", ",~", " ~+/x"),
        *(' "/etc/x"', " '../x'", ",..,b", ";..;b", ",file:///etc/passwd", " ~root x", "|/ x"),
    ],
)
def test_D08_a_second_path_hides_behind_no_first_one(name: str, behind: str) -> None:
    document = deletion(**{name: f"old/a{behind}"})

    assert {code for _, code, _ in found(document)} == {"path_outside_root"}


@pytest.mark.parametrize(
    "note",
    [
        *("old/a, b ...", "q1/old data (1 / 2)", "a/b, ~20 of them", "orders/day: ~50/shop"),
        *("1/2 cup, ~ 3/4 l", "and/or https://shop.example/x", "src/a.py // old", "old/a ~b.docx"),
        *("R&D/a, Q&A/b", "photos/2024 .. 2025", "<b>a/b</b>", "C/F, ~-5/10"),
    ],
)
def test_D08_signs_and_blanks_alone_are_no_second_path(note: str) -> None:
    assert found(deletion(what=note)) == set()
