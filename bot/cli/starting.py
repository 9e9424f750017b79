"""This module holds the commands `run`, `reload` and `check-config`."""

from __future__ import annotations

import logging
import os
import signal
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from bot.cli.options import USAGE, ConfigOption, JsonOption, config_of, wants_json
from bot.cli.saying import complain, fail, say, say_done, say_json
from bot.process import pool
from bot.process.early_reload import keep_reloads

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bot.config import Config, ConfigInvalid
    from bot.config.surfaces import Choice

#: How often, and how many seconds apart, `reload` looks for the answer of the bot.
_LOOKS: Final = 100
_LOOK_S: Final = 0.1
_FORMAT = "%(asctime)s %(levelname)s %(name)s: %(message)s"
VerboseOption = Annotated[bool, typer.Option("--verbose", "-v", help="Log more, to stderr.")]


def add_to(app: typer.Typer) -> None:
    """Add the commands of this module to the command line."""
    app.command("run")(run)
    app.command("reload")(reload)
    app.command("check-config")(check_config)


def run(
    context: typer.Context, config: ConfigOption = None, verbose: VerboseOption = False
) -> None:
    """Start the bot.

    It stays until it is stopped (Ctrl-C, SIGTERM) or, at a terminal without HTTP, its input ends.

    \b
    signoff run                            a terminal, where no chat token is set
    signoff run < commands.txt             each line is a command
    DISCORD_TOKEN=… signoff run            on Discord
    kill -HUP, or signoff reload           read the config again
    """
    keep_reloads()  # before the config is read, which may change right after that
    _log_to_stderr(verbose)
    loaded = config_of(context, config)
    choice = _choice(loaded)
    if choice.nothing:
        _notes(choice)
        fail(
            "Nobody could reach the bot: no chat token is set, nothing stands at standard input "
            "and intake.http is off. Set a token, or set chat.terminal.enabled: true.",
            USAGE,
        )
    _notes(choice)
    from bot.running import run_until_stopped

    pool.run(run_until_stopped(loaded, choice, dict(os.environ)))


def reload(context: typer.Context, config: ConfigOption = None, json: JsonOption = False) -> None:
    """Make the running bot read its config again.

    An invalid config leaves the old one in force. Ends with 1 where the bot did not take it, or did
    not say so.
    """
    loaded = config_of(context, config)
    from bot.books import bot_of, said_beside

    pid, database = bot_of(loaded)
    if pid is None:
        fail("No bot runs with this config, so there is nothing to reload.")
    before = _heard(said_beside(database))
    try:
        os.kill(pid, signal.SIGHUP)
    except OSError as error:
        fail(f"The bot (process {pid}) cannot be told: {error.strerror}. Whose process is it?")
    for _ in range(_LOOKS):
        time.sleep(_LOOK_S)
        said = said_beside(database)
        if _heard(said) != before and _is_of(loaded, said):
            say_done(_reloaded(pid, said), as_json=wants_json(context, json))
            return
    fail(_unanswered(pid, database))


def _unanswered(pid: int, database: Path | None) -> str:
    """Return words about a bot that does not say whether it took the config, and why if known."""
    from bot.books import said_beside
    from bot.storage.read_only import read_only

    told = f"The bot (process {pid}) was told to read its config again"
    if database is not None and read_only(database):
        return (
            f"{told}. The disk of {database} is mounted read-only, so that the bot cannot say here "
            "whether it took it, and signoff status does not know either: its log says it."
        )
    unwritten = said_beside(database).get("unwritten")
    why = f" {unwritten['words']}" if unwritten else ""
    return (
        f"{told}, and did not answer within {_LOOKS * _LOOK_S:.0f} s.{why} Look whether it works "
        "with it by now: signoff status"
    )


def _heard(said: Mapping[str, Any]) -> tuple[Any, Any]:
    """Return the parts of a bot's note that differ after every reload."""
    return said.get("config"), said.get("refused")


def _is_of(config: Config, said: Mapping[str, Any]) -> bool:
    """Return True if the bot's note is about this very text of the config.

    A reload that was under way when this one was asked for may have read an older text.
    """
    read, refused = said.get("config"), said.get("refused")
    if read is None or Path(read["path"]).resolve() != config.path.resolve():
        return True
    digest = read["digest"] if not refused else refused.get("digest")
    return digest in (None, config.text_digest)  # None: a former version, or no text was read


def _reloaded(pid: int, said: Mapping[str, Any]) -> str:
    """Return words on what the bot works with now; end the command if it refused the config."""
    if refused := said.get("refused"):
        fail(refused["why"])
    read = said["config"]
    parts = ", ".join(read["only_at_start"])
    waits = f" Changed, but only read at a start: {parts}." if parts else ""
    noted = f"\n{read['notes']}" if read.get("notes") else ""
    return f"The bot (process {pid}) works with {read['path']} as it is now.{waits}{noted}"


def check_config(
    context: typer.Context, config: ConfigOption = None, json: JsonOption = False
) -> None:
    """Say what is wrong with the config.

    Starts nothing.

    \b
    signoff check-config
    signoff --config other.yaml check-config --json
    """
    from bot.config import ConfigInvalid

    as_json = wants_json(context, json)
    try:
        loaded = config_of(context, config)
    except ConfigInvalid as error:
        if not as_json:
            raise
        say_json({"valid": False, "problems": problems_json(error)})
        raise typer.Exit(USAGE) from None
    _say_valid(loaded, as_json)


def problems_json(error: ConfigInvalid) -> list[dict[str, Any]]:
    """Return each mistake of a config with its place."""
    keys = ("file", "line", "key", "words")
    return [{key: getattr(problem, key) for key in keys} for problem in error.problems]


def _say_valid(config: Config, as_json: bool) -> None:
    policy, choice = config.policy, _choice(config)
    if as_json:
        say_json(
            {
                "valid": True,
                "policy_digest": policy.digest,
                "surfaces": list(choice.names),
                "notes": list(choice.notes),
                "tools": {name: tool.tier.value for name, tool in policy.tools.items()},
            }
        )
        return
    held = (
        f"{config.path} holds: {len(policy.tools)} tools, {len(policy.people)} people, "
        f"{len(policy.agents)} agents, {len(policy.rules)} rules."
    )
    say("\n".join((held, f"Policy {policy.digest}", *choice.notes)))


def _choice(config: Config) -> Choice:
    from bot.config.surfaces import choose, stdin_attached

    return choose(config, os.environ, attached=stdin_attached())


def _notes(choice: Choice) -> None:
    for note in choice.notes:
        complain(note)


def _log_to_stderr(verbose: bool) -> None:
    from bot.cli.log_repeats import Repeats
    from bot.cli.streams import unhindered_errors

    unhindered_errors()
    level = logging.INFO if verbose else logging.WARNING
    logging.basicConfig(stream=sys.stderr, level=level, format=_FORMAT)
    for handler in () if verbose else logging.getLogger().handlers:
        handler.addFilter(Repeats())
    # httpx logs the whole address of each call, and the query of a webhook is often its secret.
    logging.getLogger("httpx").setLevel(logging.WARNING)
