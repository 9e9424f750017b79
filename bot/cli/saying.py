"""What the command line prints: answers on standard output, troubles and progress on the other."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NoReturn

import typer

from bot.cli.options import FAILED

if TYPE_CHECKING:
    from collections.abc import Callable

    from bot.chat.replies import CommandReply


def say(words: str) -> None:
    """Print an answer."""
    print(words)


def say_line(value: Any) -> None:
    """Print an answer as JSON on one line."""
    print(json.dumps(value))


def say_json(value: Any) -> None:
    """Print an answer as one JSON document."""
    print(json.dumps(value, indent=2 if sys.stdout.isatty() else None))


def complain(words: str) -> None:
    """Say a trouble."""
    print(words, file=sys.stderr)


def fail(words: str, code: int = FAILED) -> NoReturn:
    """Say a trouble and end the command with `code`."""
    complain(words)
    raise typer.Exit(code)


def say_reply(reply: CommandReply) -> None:
    """Print an answer of words and tables; drawn where a person looks, plain lines in a pipe."""
    from bot.chat.terminal.render import Screen

    Screen().reply(reply)


@contextmanager
def progress(what: str, total: int | None = None) -> Iterator[Callable[[int], None]]:
    """Show on a terminal how far a long work is; call the value with how much is done."""
    if not sys.stderr.isatty():
        yield lambda _done: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=total)
        yield lambda done: bar.update(task, completed=done)
