"""This module holds the options of every command, before or after its name, and reads the config
that they name."""

from __future__ import annotations

import os
import sys
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bot.config import Config, Problem

#: Exit codes: 0 is success (design section 8).
FAILED = 1
USAGE = 2

ConfigOption = Annotated[
    Path | None,
    typer.Option(
        "--config",
        "-c",
        metavar="FILE",
        help="The config file; else SIGNOFF_CONFIG, else ./config.yaml.",
        show_default=False,
    ),
]
#: For so many seconds a command that only looks waits for rules and tools of others to be loaded.
LOADED_S: Final = 10.0
#: And one that must know of each tool whether it stages; a large package may take half a minute.
LOADED_AT_MOST_S: Final = 60.0
#: True if --json was given; for errors that are told after the context of the command is gone.
_JSON: Final = ContextVar("json", default=False)


def _remembered(value: bool) -> bool:
    if value:
        _JSON.set(True)
    return value


JsonOption = Annotated[
    bool, typer.Option("--json", callback=_remembered, help="Answer with JSON, refusals as well.")
]


@dataclass(slots=True)
class Given:
    """The options that stand before the command's name."""

    config: Path | None = None
    json: bool = False

    def __post_init__(self) -> None:
        """Set the JSON mark anew, so that an earlier command of this process has no effect."""
        _JSON.set(self.json)


def config_path(context: typer.Context, config: Path | None) -> Path:
    """Return the config file: of the option, else SIGNOFF_CONFIG, else `config.yaml`."""
    given: Given = context.obj
    chosen = config or given.config
    return chosen or Path(os.environ.get("SIGNOFF_CONFIG") or "config.yaml")


def config_of(context: typer.Context, config: Path | None, *, only_look: bool = False) -> Config:
    """Read the config; with `only_look` no rule and no class of a tool is loaded, nor are the
    settings of rules checked.

    Raises ConfigInvalid. With `only_look`, a note on it says which commands work nevertheless.
    """
    from bot.config import ConfigInvalid, load_config

    path = config_path(context, config)
    try:
        return load_config(path, ask_rules=not only_look, ask_classes=not only_look)
    except ConfigInvalid as error:
        if only_look and _brakes_work(path):
            error.add_note(
                "With this config `signoff status`, `freeze`, `thaw`, `audit` and `backup` work "
                "nevertheless, and a bot that runs goes on under its old one."
            )
        raise


def config_to_show(context: typer.Context, config: Path | None) -> Config:
    """Read the config like `config_of` with `only_look`, and also ask the classes of tools what
    they can take back; where one cannot be asked, or hangs, say so and go on without. Raises
    ConfigInvalid."""
    from bot.config import ConfigInvalid, load_config
    from bot.config.own_code import OwnCodeHangs, loaded_in_time

    path = config_path(context, config)
    try:
        return loaded_in_time(partial(load_config, path, ask_rules=False), LOADED_S)
    except (ConfigInvalid, OwnCodeHangs) as error:
        without = config_of(context, config, only_look=True)
        words = "what a tool with a class of its own can take back is not known here."
        print(f"{error}: {words}", file=sys.stderr)
        return without


def _brakes_work(path: Path) -> bool:
    """Return True if `status`, `freeze` and their like can read what they need of a broken
    config."""
    from bot.config import ConfigInvalid, load_what_is_needed

    try:
        load_what_is_needed(path)
    except ConfigInvalid:
        return False
    return True


def some_config_of(
    context: typer.Context, config: Path | None, *, ask_classes: bool = False
) -> Config:
    """Read the parts of the config that verifying, copying and freezing need, and load no rule nor,
    without `ask_classes`, a class of a tool.

    Mistakes in other parts are printed to standard error and do no harm. Raises ConfigInvalid, and
    with `ask_classes` OwnCodeHangs.
    """
    from bot.config import load_what_is_needed
    from bot.config.own_code import loaded_in_time

    path = config_path(context, config)
    if ask_classes:
        with_classes = partial(load_what_is_needed, path, ask_classes=True)
        found, problems = loaded_in_time(with_classes, LOADED_AT_MOST_S)
    else:
        found, problems = load_what_is_needed(path)
    _warn(problems)
    return found


def best_config_of(context: typer.Context, config: Path | None) -> Config:
    """Read the whole config, or if it is invalid the parts that `some_config_of` reads.

    Every mistake is printed to standard error then, and so is which rule or tool of others hangs as
    it is loaded.
    """
    from bot.config import ConfigInvalid, load_what_is_needed
    from bot.config.own_code import OwnCodeHangs, loaded_in_time

    path = config_path(context, config)
    try:
        return loaded_in_time(partial(config_of, context, config), LOADED_S)
    except ConfigInvalid as error:
        found, _ = load_what_is_needed(path)
        _warn(error.problems)
    except OwnCodeHangs as error:
        found, problems = load_what_is_needed(path)
        print(f"{error}: a bot that is started waits for it as well.", file=sys.stderr)
        _warn(problems)
    return found


def _warn(problems: Sequence[Problem]) -> None:
    if problems:
        words = "\n".join(map(str, problems))
        warning = (
            f"{words}\nWith that no bot starts, and one that runs goes on under its old config."
        )
        print(warning, file=sys.stderr)


def wants_json(context: typer.Context, json: bool) -> bool:
    """Return True if the answer is to be JSON."""
    given: Given = context.obj
    return json or given.json


def json_said() -> bool:
    """Return True if --json was given; for callers that have no context any more."""
    return _JSON.get()
