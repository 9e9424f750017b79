"""Prints answers to standard output, and troubles and progress to standard error.

`say…` prints what was done or found, which the exit code says as well; if it cannot be printed, it
goes to standard error. `give…` prints what a command was asked for; if it cannot be printed, the
command has failed.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NoReturn

import typer

from bot.cli.options import FAILED, json_said
from bot.cli.streams import Unprinted

if TYPE_CHECKING:
    from collections.abc import Callable

    from bot.chat.commands.replies import CommandReply


def say(words: str) -> None:
    """Print what was done or found, and flush it."""
    try:
        print(words, flush=True)
    except Unprinted as error:
        if not error.reader_left:
            complain(f"Standard output cannot be written ({error}). The answer was: {words}")


def say_line(value: Any) -> None:
    """Say a value as JSON on one line."""
    say(json.dumps(value))


def say_done(words: str, *, as_json: bool) -> None:
    """Say that the command was done, in words or as JSON."""
    if as_json:
        say_line({"done": True, "code": None, "words": words})
    else:
        say(words)


def say_json(value: Any) -> None:
    """Say a value as one JSON document."""
    say(_document(value))


def give(words: str) -> None:
    """Print the answer, or a piece of it. Raises Unprinted."""
    print(words)


def give_json(value: Any) -> None:
    """Print the answer as one JSON document. Raises Unprinted."""
    give(_document(value))


def give_reply(reply: CommandReply) -> None:
    """Print words and tables, drawn on a terminal and plain in a pipe. Raises Unprinted."""
    from bot.chat.terminal.render import Screen

    Screen().reply(reply)


def complain(words: str) -> None:
    """Print a trouble to standard error."""
    print(words, file=sys.stderr)


def refuse(words: str, code: str | None = None, **more: Any) -> None:
    """Print why a command was not done; with --json, print it as JSON on standard output too."""
    complain(words if code is None else f"{words} ({code})")
    if json_said():
        say_line({"done": False, "code": code, "words": words, **more})


def fail(words: str, exit_code: int = FAILED, code: str | None = None) -> NoReturn:
    """Print why the command was not done, with its code if it has one, and end the command."""
    refuse(words, code)
    raise typer.Exit(exit_code)


def _document(value: Any) -> str:
    return json.dumps(value, indent=2 if sys.stdout.isatty() else None)


@contextmanager
def progress(what: str) -> Iterator[Callable[[int], None]]:
    """Show the progress of long work if standard error is a terminal.

    Yields a function that is called with how much is done; it may be called on any thread.
    """
    if not sys.stderr.isatty():
        yield lambda _done: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    shown = Console(stderr=True)
    # redirect_stdout=False: else rich would print the answer above the bar, on standard error.
    with Progress(*columns, console=shown, transient=True, redirect_stdout=False) as bar:
        task = bar.add_task(what, total=None)
        yield lambda done: bar.update(task, completed=done)
