"""docs/walk.md leads through functions that exist."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

PLACES = sorted(
    set(re.findall(r"`([\w/]+\.py)(?::([\w.]+))?`", (ROOT / "docs/walk.md").read_text()))
)


@cache
def _names(path: str) -> frozenset[str]:
    """Return what a file defines at its top and in its classes, with what their bodies set."""
    found = set[str]()
    for node in ast.parse((ROOT / path).read_text()).body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            found.add(node.name)
        if isinstance(node, ast.ClassDef):
            functions = (ast.FunctionDef, ast.AsyncFunctionDef)
            found |= {
                f"{node.name}.{each.name}" for each in node.body if isinstance(each, functions)
            }
    return frozenset(found)


def test_the_walk_names_many_places() -> None:
    assert len(PLACES) > 50


@pytest.mark.parametrize(("path", "name"), PLACES)
def test_every_place_of_the_walk_is_where_it_says(path: str, name: str) -> None:
    assert (ROOT / path).is_file(), path
    assert not name or name in _names(path), f"{name} is not in {path}"
