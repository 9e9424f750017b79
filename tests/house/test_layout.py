"""How the code may look: small files, small functions, honest names, no circles."""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Iterator
from pathlib import Path

import grimp
import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("lifecycle", "sentinel_rules", "bot")
SOURCES = sorted(file for package in PACKAGES for file in (ROOT / package).rglob("*.py"))
TESTS = sorted((ROOT / "tests").rglob("*.py"))

LONGEST_FILE = 300
LONGEST_FUNCTION = 40
MOST_FUNCTIONS = 25

BANNED = {"request", "ticket", "manager", "handler", "helper", "utils", "util", "processor"}
#: Names that other people's specifications give to things.
GIVEN_BY_OTHERS = {"KernelRequest"}

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef


def tree_of(file: Path) -> ast.Module:
    return ast.parse(file.read_text(encoding="utf-8"))


def functions() -> Iterator[tuple[str, int]]:
    for file in SOURCES:
        for node in ast.walk(tree_of(file)):
            if isinstance(node, FunctionNode) and node.end_lineno is not None:
                where = f"{file.relative_to(ROOT)}:{node.lineno} {node.name}"
                yield where, node.end_lineno - node.lineno + 1


def names() -> Iterator[tuple[str, str]]:
    for file in SOURCES:
        where = str(file.relative_to(ROOT))
        yield from ((where, part) for part in file.relative_to(ROOT).with_suffix("").parts)
        for node in ast.walk(tree_of(file)):
            if isinstance(node, ast.ClassDef):
                yield f"{where}:{node.lineno}", node.name


def words(name: str) -> set[str]:
    found = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z0-9]+", name)
    return {word.lower() for word in found} | {word.lower().removesuffix("s") for word in found}


def components(edges: dict[str, set[str]]) -> list[set[str]]:
    """Groups of modules that can reach each other."""
    reached: dict[str, set[str]] = {}
    for start in edges:
        seen: set[str] = set()
        ahead = list(edges[start])
        while ahead:
            module = ahead.pop()
            if module not in seen:
                seen.add(module)
                ahead.extend(edges[module])
        reached[start] = seen
    circles: list[set[str]] = []
    for module, seen in reached.items():
        if module in seen and not any(module in circle for circle in circles):
            circles.append({other for other in seen if module in reached[other]})
    return circles


def test_files_are_short() -> None:
    lines = {
        str(file.relative_to(ROOT)): len(file.read_text("utf-8").splitlines())
        for file in (*SOURCES, *TESTS)
    }

    assert {file: count for file, count in lines.items() if count > LONGEST_FILE} == {}


def test_functions_are_short() -> None:
    assert {where: count for where, count in functions() if count > LONGEST_FUNCTION} == {}


def test_nearly_all_functions_fit_on_half_a_page() -> None:
    lengths = sorted(count for _, count in functions())

    assert lengths[math.ceil(len(lengths) * 0.95) - 1] <= MOST_FUNCTIONS


def test_modules_and_classes_have_names_that_say_something() -> None:
    empty_words = {
        f"{where} {name}"
        for where, name in names()
        if words(name) & BANNED and name not in GIVEN_BY_OTHERS
    }

    assert empty_words == set()


@pytest.mark.parametrize("name", ["ToolManager", "http_utils", "HTTPHandler", "requests", "Helper"])
def test_an_empty_word_is_seen_wherever_it_hides(name: str) -> None:
    assert words(name) & BANNED


def test_no_module_imports_itself_through_others() -> None:
    graph = grimp.build_graph(*PACKAGES, exclude_type_checking_imports=True, cache_dir=None)
    edges = {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}

    assert components(edges) == []


def test_a_circle_of_imports_is_seen() -> None:
    edges = {"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": {"a"}}

    assert components(edges) == [{"b", "c"}]
