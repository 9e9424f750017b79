"""The commands by name, the options before them, and the last net under all of them."""

from __future__ import annotations

import os
import sys
import traceback
from io import TextIOWrapper
from pathlib import Path
from tempfile import gettempdir
from typing import Annotated, Final

import typer

from bot.cli.acting import add_to as add_acting
from bot.cli.doors import add_to as add_doors
from bot.cli.files import add_to as add_files
from bot.cli.looking import add_to as add_looking
from bot.cli.options import FAILED, USAGE, ConfigOption, Given, JsonOption
from bot.cli.saying import complain
from bot.cli.starting import add_to as add_starting
from bot.cli.trail import add_to as add_trail

_HELP: Final = """AI agents propose, nine Sentinel rules check, people sign off.

\b
  signoff run                          start the bot with ./config.yaml
  signoff check-config                 say what is wrong with the config
  signoff propose plan.json --as leila submit a proposal while no bot runs
  signoff pending                      what waits for people
  signoff show p1                      one proposal, by 4 or more characters of its id

Exit codes: 0 success, 1 refused or failed, 2 usage or bad config."""

app = typer.Typer(
    name="signoff",
    help=_HELP,
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _say_version(asked: bool) -> None:
    if asked:
        from bot.version import signoff_version

        typer.echo(f"signoff {signoff_version()}")
        raise typer.Exit


VersionOption = Annotated[
    bool,
    typer.Option("--version", callback=_say_version, is_eager=True, help="Say which one this is."),
]


@app.callback()
def given(
    context: typer.Context,
    config: ConfigOption = None,
    json: JsonOption = False,
    _version: VersionOption = False,
) -> None:
    """Take the options that stand before the command."""
    context.obj = Given(config, json)


for _add in (add_starting, add_acting, add_looking, add_trail, add_files, add_doors):
    _add(app)


def main() -> None:
    """Run the command line; ends the process with 0, 1 or 2 and never with a traceback."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # what a terminal cannot show is shown as an escape
            stream.reconfigure(errors="backslashreplace")
    try:
        app(prog_name="signoff")
    except KeyboardInterrupt:
        complain("Stopped.")
        sys.exit(FAILED)
    except BrokenPipeError:
        # Whoever read our answer has read enough.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except Exception as error:
        sys.exit(_told(error))


def _told(error: Exception) -> int:
    """Put an error into a sentence and return the exit code."""
    from bot.config import ConfigInvalid
    from bot.troubles import EXPECTED

    if isinstance(error, ConfigInvalid):
        complain(str(error))
        return USAGE
    if isinstance(error, EXPECTED):
        complain(str(error) or type(error).__name__)
        return FAILED
    complain(f"Signoff met an error it does not know ({type(error).__name__}).{_kept(error)}")
    return FAILED


def _kept(error: Exception) -> str:
    """Write the traceback where it can be read later, its secrets masked; say where."""
    from lifecycle.masking import mask_text

    path = Path(gettempdir()) / f"signoff-error-{os.getpid()}.log"
    try:
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(mask_text("".join(traceback.format_exception(error))))
    except OSError:
        return ""
    return f" What happened stands in {path}."
