"""The page of commands names what can be typed, every page only commands that there are."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from bot.chat.commands.help import COMMANDS
from bot.cli.app import app

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "commands.md").read_text(encoding="utf-8")
PAGES = sorted(
    page for page in [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")] if page.stem != "CHANGELOG"
)
CODE = re.compile(r"^```.*?^```|`[^`\n]+`", re.DOTALL | re.MULTILINE)
#: Behind these stands the account, the container or the image of the name.
ACCOUNT = "".join(f"(?<!{word} )" for word in ("-u", "-o", "-g", "-t", "exec", "name"))
CLI: Any = get_command(app)


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


def code_in(page: Path) -> str:
    return "\n".join(CODE.findall(page.read_text(encoding="utf-8")))


def typed_in(code: str) -> set[str]:
    """Return the words behind the marks of Discord and Slack."""
    return set(re.findall(r"(?:[`\s·]!|[`\s]@signoff |[`\s]/signoff )([a-z-]+)", code))


def called_in(code: str) -> list[tuple[str, set[str]]]:
    """Return each call of the command line: its first word, and the long options behind it."""
    calls = re.findall(rf"{ACCOUNT}(?:bin/|(?<![\w@/-]))signoff ([a-z][a-z-]*)([^`|;\n]*)", code)
    return [(word, set(re.findall(r" (--[a-z]+)", rest))) for word, rest in calls]


def options_of(command: Any) -> set[str]:
    """Return the options of a command, and of those below it."""
    below = getattr(command, "commands", {}).values()
    own = {each for parameter in command.params for each in parameter.opts}
    return own.union({"--help"}, *map(options_of, below))


def test_the_page_tells_every_command_as_it_is_written() -> None:
    rows = re.findall(r"^\| `((?:[^`|]|\\\|)+)` \| [^|]+ \| [^|]+ \|$", PAGE, re.MULTILINE)
    written = {f"{name} {behind}".strip() for name, (behind, _) in COMMANDS.items()}

    assert {row.replace("\\|", "|") for row in rows} == written


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_what_a_page_has_typed_in_a_chat_is_a_command(page: Path) -> None:
    assert typed_in(code_in(page)) - set(COMMANDS) == set()


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_what_a_page_calls_at_the_command_line_is_there_with_its_options(page: Path) -> None:
    for word, options in called_in(code_in(page)):
        assert word in CLI.commands, word
        assert options <= options_of(CLI.commands[word]) | {"--config", "--json"}, word
