"""This module holds the options of every command, before or after its name, and reads the config
that they name."""

from __future__ import annotations

import os
import sys
from contextvars import ContextVar
from dataclasses import dataclass
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
    """Read the config; with `only_look` the rules are not loaded, nor their settings checked.

    Raises ConfigInvalid. With `only_look`, a note on it says which commands work nevertheless.
    """
    from bot.config import ConfigInvalid, load_config

    path = config_path(context, config)
    try:
        return load_config(path, ask_rules=not only_look)
    except ConfigInvalid as error:
        if only_look and _brakes_work(path):
            error.add_note(
                "With this config `signoff status`, `freeze`, `thaw`, `audit` and `backup` work "
                "nevertheless, and a bot that runs goes on under its old one."
            )
        raise


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

    Mistakes in other parts are printed to standard error and do no harm. Raises ConfigInvalid.
    """
    from bot.config import load_what_is_needed

    found, problems = load_what_is_needed(config_path(context, config), ask_classes=ask_classes)
    _warn(problems)
    return found


def best_config_of(context: typer.Context, config: Path | None) -> Config:
    """Read the whole config, or if it is invalid the parts that `some_config_of` reads.

    Every mistake is printed to standard error then.
    """
    from bot.config import ConfigInvalid, load_what_is_needed

    try:
        return config_of(context, config)
    except ConfigInvalid as error:
        found, _ = load_what_is_needed(config_path(context, config))
        _warn(error.problems)
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
