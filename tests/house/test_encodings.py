"""No text file is read or written in whatever encoding the locale of the machine has."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

FOLDERS = ("bot", "lifecycle", "sentinel_rules", "examples")


def unnamed(tree: ast.AST) -> Iterator[ast.Call]:
    """Yield the calls that read or write text and name no encoding."""
    for call in ast.walk(tree):
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute | ast.Name):
            continue
        name = call.func.attr if isinstance(call.func, ast.Attribute) else call.func.id
        named = "encoding" in {keyword.arg for keyword in call.keywords}
        modes = [arg.value for arg in call.args if isinstance(arg, ast.Constant)]
        opens = name == "open" and any(mode in ("r", "w", "a", "x", "r+", "w+") for mode in modes)
        if not named and (opens or name in ("read_text", "write_text")):
            yield call


def test_every_text_file_is_read_and_written_in_an_encoding_that_is_named(root: Path) -> None:
    files = [file for folder in FOLDERS for file in sorted((root / folder).rglob("*.py"))]
    found = [
        f"{file.relative_to(root)}:{call.lineno}"
        for file in files
        for call in unnamed(ast.parse(file.read_text(encoding="utf-8")))
    ]
    assert (found, len(files) > 300) == ([], True)


def test_a_text_file_in_the_encoding_of_the_machine_would_be_found() -> None:
    written = "path.read_text()\nopen(path, 'w')\npath.open('r')\npath.open('rb')\n"
    assert [call.lineno for call in unnamed(ast.parse(written))] == [1, 2, 3]
