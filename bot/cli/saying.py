"""What the command line prints: answers on standard output, troubles and progress on the other.

`say…` tells what was done or found, which the exit code says as well: where it cannot be printed
it goes to standard error. `give…` prints what a command was asked for: without it, it has failed.
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
    """Tell what was done or found, whole and at once."""
    try:
        print(words, flush=True)
    except Unprinted as error:
        if not error.reader_left:
            complain(f"Standard output cannot be written ({error}). The answer was: {words}")


def say_line(value: Any) -> None:
    """Tell it as JSON on one line."""
    say(json.dumps(value))


def say_done(words: str, *, as_json: bool) -> None:
    """Tell that it was done."""
    if as_json:
        say_line({"done": True, "code": None, "words": words})
    else:
        say(words)


def say_json(value: Any) -> None:
    """Tell it as one JSON document."""
    say(_document(value))


def give(words: str) -> None:
    """Print what was asked for, or a piece of it. Raises Unprinted."""
    print(words)


def give_json(value: Any) -> None:
    """Print it as one JSON document. Raises Unprinted."""
    give(_document(value))


def give_reply(reply: CommandReply) -> None:
    """Print words and tables; drawn where a person looks, plain in a pipe. Raises Unprinted."""
    from bot.chat.terminal.render import Screen

    Screen().reply(reply)


def complain(words: str) -> None:
    """Say a trouble."""
    print(words, file=sys.stderr)


def refuse(words: str, code: str | None = None, **more: Any) -> None:
    """Say why a command came to nothing; whoever asked for JSON is answered with it as well."""
    complain(words if code is None else f"{words} ({code})")
    if json_said():
        say_line({"done": False, "code": code, "words": words, **more})


def fail(words: str, exit_code: int = FAILED, code: str | None = None) -> NoReturn:
    """Say a trouble, with its code where it has one, and end the command."""
    refuse(words, code)
    raise typer.Exit(exit_code)


def _document(value: Any) -> str:
    return json.dumps(value, indent=2 if sys.stdout.isatty() else None)


@contextmanager
def progress(what: str, total: int | None = None) -> Iterator[Callable[[int], None]]:
    """Show on a terminal how far a long work is; call the value with how much is done."""
    if not sys.stderr.isatty():
        yield lambda _done: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    shown = Console(stderr=True)
    # What is written to standard output goes there, not above the bar.
    with Progress(*columns, console=shown, transient=True, redirect_stdout=False) as bar:
        task = bar.add_task(what, total=total)
        yield lambda done: bar.update(task, completed=done)
