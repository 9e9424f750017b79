"""This module holds the commands `backup`, `restore` and `bench`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Final

import typer

from bot.cli.options import ConfigOption, JsonOption, some_config_of, wants_json
from bot.cli.saying import fail, progress, say_done
from bot.process import pool
from bot.process.despite_locale import despite_locale

#: All arguments after `bench`, also --help, are handed on: bench has a parser of its own.
_HANDED_ON: Final = {
    "allow_extra_args": True,
    "ignore_unknown_options": True,
    "help_option_names": [],
}
FileArgument = Annotated[Path, typer.Argument(metavar="FILE", help="The file of the copy.")]


def add_to(app: typer.Typer) -> None:
    """Add the commands of this module to the command line."""
    app.command("backup")(backup)
    app.command("restore")(restore)
    app.command("bench", context_settings=_HANDED_ON)(bench)


def backup(
    context: typer.Context,
    file: FileArgument,
    config: ConfigOption = None,
    json: JsonOption = False,
) -> None:
    """Copy the database whole.

    Also while the bot runs; FILE must not exist yet.

    \b
    signoff backup /var/backups/signoff-$(date +%F).db
    """
    loaded = some_config_of(context, config)
    from bot.storage.copies import back_up

    with progress("Copying pages") as done:
        back_up(_database(loaded.database_file), file, done)
    say_done(f"The database was copied to {file}.", as_json=wants_json(context, json))


def restore(
    context: typer.Context,
    file: FileArgument,
    config: ConfigOption = None,
    json: JsonOption = False,
) -> None:
    """Put a copy in the place of the database.

    While no bot runs; the old one is kept beside it. All is frozen then, until `thaw`.

    \b
    signoff restore /var/backups/signoff-2026-03-02.db
    """
    from bot import single
    from bot.config.own_code import OwnCodeHangs
    from bot.storage.copies import bring_back

    try:
        loaded = some_config_of(context, config, ask_classes=True)
    except OwnCodeHangs as error:
        fail(f"{error}: no bot could start with it. Mend that first; nothing was brought back.")

    in_question: list[int] = []

    def frozen(fresh: Path) -> None:
        copy = despite_locale(file.name)  # the trail keeps it
        in_question.append(pool.run(single.bring_back(loaded, os.environ, fresh, copy)))

    with progress("Checking and copying") as done:
        kept = bring_back(file, _database(loaded.database_file), done, frozen)
    say_done(
        f"{file} is the database now.{f' The old one stands in {kept}.' if kept else ''}\n"
        "It is frozen: what was done since the copy was made, it does not know. Of what was open "
        f"in it ({in_question[-1]}) nothing goes on by itself: approvals are void, and what was "
        "under way needs a person's word (settle ID happened | did-not-happen). Start the bot, "
        "look (pending), reject what must not be done again, then: signoff thaw.",
        as_json=wants_json(context, json),
    )


def bench(context: typer.Context, config: ConfigOption = None) -> None:
    """Measure this machine.

    How many proposals a second, in a folder of its own.
    """
    del config
    from bot.bench import main as measure

    measure([*context.args, *(["--json"] if wants_json(context, json=False) else [])])


def _database(path: Path | None) -> Path:
    if path is None:
        fail("The database is memory:, which ends with its process and cannot be copied.")
    return path
