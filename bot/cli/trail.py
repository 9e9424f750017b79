"""This module holds the commands `audit verify` and `audit export`."""

from __future__ import annotations

import itertools
import re
import sys
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Annotated, Final

import typer

from bot.cli.options import FAILED, USAGE, ConfigOption, JsonOption, some_config_of, wants_json
from bot.cli.saying import complain, fail, give, progress, say, say_json
from bot.cli.stopping import stoppable
from bot.process import pool

if TYPE_CHECKING:
    from collections.abc import Callable

    from bot.config import Config
    from bot.trail import Verified

_HASH: Final = re.compile(r"[0-9a-f]{64}")
#: After how many lines of an export the progress is shown again.
_SHOWN_EVERY: Final = 500

HeadOption = Annotated[
    str | None,
    typer.Option(
        "--head",
        metavar="HASH",
        help="A hash that was told in the channel; it must be part of the trail.",
        show_default=False,
    ),
]


def add_to(app: typer.Typer) -> None:
    """Add the commands of this module to the command line."""
    audit = typer.Typer(
        help="The audit trail: verify it, or write it out.",
        no_args_is_help=True,
        rich_markup_mode=None,
    )
    audit.command("verify")(verify)
    audit.command("export")(export)
    app.add_typer(audit, name="audit")


def verify(
    context: typer.Context,
    head: HeadOption = None,
    config: ConfigOption = None,
    json: JsonOption = False,
) -> None:
    """Check every link of the chain, and every proposal against it.

    Ends with 1 where a link is broken, or where a row says what no entry tells.

    \b
    signoff audit verify
    signoff audit verify --head 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08
    """
    from lifecycle.audit import GENESIS

    if head is not None and not _HASH.fullmatch(head):
        fail("--head takes 64 hex digits in lower case, as the channel shows them.", USAGE)
    if head == GENESIS:
        fail(
            "That is the hash before the first entry: every trail has it, so it proves none.", USAGE
        )
    found = _verified(some_config_of(context, config), head)
    if wants_json(context, json):
        say_json(
            {
                "valid": not found.problems,
                "entries": found.entries,
                "proposals": found.proposals,
                "head": found.head,
                "problems": found.problems,
            }
        )
    else:
        _tell(found)
    if found.problems:
        raise typer.Exit(FAILED)


def _verified(config: Config, head: str | None) -> Verified:
    from bot.trail import verified

    with progress("Checking the chain") as done, stoppable() as step:

        def told(read: int) -> None:
            step()
            done(read)

        return pool.run(verified(config, head, told))


def _tell(found: Verified) -> None:
    read = f"{found.entries} entries and {found.proposals} proposals"
    if not found.problems:
        say(f"{read}: every link holds, every row says the same. Head: {found.head}")
    for problem in found.problems:
        complain(problem)
    if found.problems:
        complain(f"Faults in {read}: {len(found.problems)}")


def export(context: typer.Context, config: ConfigOption = None) -> None:
    """Write the trail as JSON Lines.

    One entry a line, exactly as it is chained.

    \b
    signoff audit export > audit.jsonl
    """
    loaded = some_config_of(context, config)
    from bot.trail import exported

    numbers = itertools.count(1)
    with _shown_beside() as done, stoppable() as step:

        def written(line: str) -> None:
            step()
            give(line)
            if (number := next(numbers)) % _SHOWN_EVERY == 0:
                done(number)

        pool.run(exported(loaded, written))


def _shown_beside() -> AbstractContextManager[Callable[[int], None]]:
    """Show the progress of the export, unless the terminal shows the lines themselves."""
    if sys.stdout.isatty():
        return nullcontext(lambda _done: None)
    return progress("Writing the trail out")
