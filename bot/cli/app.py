"""This module builds the command line, and turns every error that a command raises into a sentence
and an exit code."""

from __future__ import annotations

import errno
import os
import sys
import traceback
from contextlib import suppress
from pathlib import Path
from tempfile import mkstemp
from typing import Annotated, Final

import typer

from bot.cli.acting import add_to as add_acting
from bot.cli.doors import add_to as add_doors
from bot.cli.files import add_to as add_files
from bot.cli.looking import add_to as add_looking
from bot.cli.of_the_chat import ShellCommands
from bot.cli.options import FAILED, USAGE, ConfigOption, Given, JsonOption
from bot.cli.saying import complain, refuse
from bot.cli.starting import add_to as add_starting
from bot.cli.starting import problems_json
from bot.cli.streams import Unprinted, guard_streams
from bot.cli.trail import add_to as add_trail
from bot.process.pool import NO_THREAD

_HELP: Final = """AI agents propose, nine Sentinel rules check, people sign off.

\b
  signoff run                          start the bot with ./config.yaml
  signoff check-config                 say what is wrong with the config
  signoff propose plan.json --as leila submit a proposal while no bot runs
  signoff pending                      what waits for people
  signoff show p1                      one proposal, by 4 or more characters of its id
  signoff status                       does a bot run, does anything need a person
  signoff freeze incident 7            nothing executes until signoff thaw

People approve and reject in the chat, or at the prompt that run opens.

Exit codes: 0 success, 1 refused or failed, 2 usage or bad config."""

_NO_FILE: Final = frozenset({errno.EMFILE, errno.ENFILE})
_MORE_THREADS: Final = (
    "This machine starts no more threads for Signoff: raise the limit of its account or of its "
    "unit (ulimit -u, TasksMax=), or give it more memory, and start it again."
)
#: A FileNotFoundError without a file name is about the current folder alone.
_NO_FOLDER: Final = (
    "The folder in which this command was called is gone: cd into one that is there, and call it "
    "again."
)
#: The exit code by which typer says that Ctrl-C was typed.
_INTERRUPTED: Final = 130

app = typer.Typer(
    name="signoff",
    cls=ShellCommands,
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
    typer.Option(
        "--version", callback=_say_version, is_eager=True, help="Say which version this is."
    ),
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
    """Run the command line; raises SystemExit with 0, 1 or 2, and never shows a traceback."""
    guard_streams()
    sys.exit(_ended())


def _ended() -> int:
    """Run the command and return its exit code; 0 becomes 1 if the answer could not be printed.

    A reader that closed the pipe does not count: it has read enough.
    """
    code = 0
    try:
        code = _ran()
        sys.stdout.flush()
    except Unprinted as error:
        with suppress(OSError):
            sys.stdout.flush()
        if error.reader_left:
            return code
        complain(f"Standard output cannot be written ({error}), so the answer is not whole.")
        return code or FAILED
    return code


def _ran() -> int:
    """Run the command and return the exit code of what was done. Raises Unprinted."""
    try:
        app(prog_name="signoff")
    except SystemExit as ended:
        if ended.code != _INTERRUPTED:
            return ended.code if isinstance(ended.code, int) else bool(ended.code)
        complain("Stopped.")
        return FAILED
    except Unprinted:
        raise
    except Exception as error:
        return _told(error)
    return 0


def _told(error: Exception) -> int:
    """Print a sentence about an error and return the exit code."""
    from bot.config import ConfigInvalid
    from bot.expected import SettingRefused
    from bot.keys import KeysRefused
    from bot.troubles import EXPECTED

    if isinstance(error, ConfigInvalid):
        words = "\n".join([str(error), *getattr(error, "__notes__", ())])
        refuse(words, problems=problems_json(error))
        return USAGE
    if isinstance(error, EXPECTED):
        refuse(str(error) or type(error).__name__, _code_of(error))
        return USAGE if isinstance(error, (KeysRefused, SettingRefused)) else FAILED
    if lacking := _of_the_system(error):
        refuse(lacking)
        return FAILED
    refuse(f"Signoff met an error it does not know ({type(error).__name__}).{_kept(error)}")
    return FAILED


def _of_the_system(error: Exception) -> str | None:
    """Return words on what the machine lacks or refuses, None if the error is another one."""
    if isinstance(error, MemoryError):
        return "There is no memory left for Signoff: end what takes it, or let Signoff have more."
    if isinstance(error, RuntimeError) and str(error) == NO_THREAD:
        return _MORE_THREADS
    if isinstance(error, FileNotFoundError) and error.filename is None:
        return _NO_FOLDER
    if isinstance(error, OSError) and (error.filename is not None or error.errno in _NO_FILE):
        what = error.filename or "One more file or connection"
        return f"{what} cannot be used: {error.strerror}.{_remedy(error)}"
    return None


def _code_of(error: Exception) -> str | None:
    from lifecycle.ports import StoreUnavailable

    return (
        "audit_unavailable" if isinstance(error, StoreUnavailable) else getattr(error, "code", None)
    )


def _remedy(error: OSError) -> str:
    if error.errno in _NO_FILE:
        from bot.storage.remedies import MORE_FILES

        return MORE_FILES
    if not isinstance(error, PermissionError):
        return ""
    from bot.storage.remedies import closed_to_its_owner

    if folder := closed_to_its_owner(Path(str(error.filename or ""))):
        return f" The account has closed its own folder: chmod u+rwx {folder}"
    return (
        " If it is the bot's, call Signoff as the account that runs the bot, as in: "
        "sudo -u signoff signoff status"
    )


def _kept(error: Exception) -> str:
    """Write the traceback to a file, with secrets masked; return words that name the file."""
    from lifecycle.text.masking import mask_text

    try:
        told = mask_text("".join(traceback.format_exception(error)))
        descriptor, path = mkstemp(".log", "signoff-error-")  # a process id may come again
        with os.fdopen(descriptor, "wb") as file:
            # Paths in a traceback may hold characters that cannot be encoded.
            file.write(told.encode(errors="backslashreplace"))
    except OSError:
        return ""
    return f" What happened stands in {path}."
