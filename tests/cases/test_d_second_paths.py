"""Case D08: one value names one path, for a tool may take it for several."""

from __future__ import annotations

import pytest

from tests.cases.test_d_paths import deletion
from tests.checking import found


@pytest.mark.parametrize("name", ["paths", "what"])
@pytest.mark.parametrize(
    "behind", [" /etc/passwd", ",/etc", "; ../x", ":/etc", "|~/x", " ~root/x", ", .."]
)
def test_D08_a_second_path_hides_behind_no_first_one(name: str, behind: str) -> None:
    document = deletion(**{name: f"old/a{behind}"})

    assert {code for _, code, _ in found(document)} == {"path_outside_root"}


@pytest.mark.parametrize("note", ["old/a, b ...", "q1/old data (1 / 2)", "a/b, ~20 of them"])
def test_D08_signs_and_blanks_alone_are_no_second_path(note: str) -> None:
    assert found(deletion(what=note)) == set()
