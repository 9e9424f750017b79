"""What each kind of tool can take back, read from its settings alone (design section 7)."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any, NamedTuple

from bot.config.tool_models import (
    CommandEntry,
    EmailEntry,
    PythonEntry,
    ToolEntry,
    WebhookEntry,
)
from lifecycle.located import not_loaded


class Capabilities(NamedTuple):
    """`reversible`: it can roll back; `deferred`: execute only stages, commit carries out."""

    reversible: bool
    deferred: bool


_NEITHER = Capabilities(reversible=False, deferred=False)


def capabilities(entry: ToolEntry, folder: Path) -> Capabilities:
    """Return what the tool can do; raises ValueError where its class cannot be found."""
    match entry:
        case EmailEntry():
            return Capabilities(reversible=True, deferred=True)
        case WebhookEntry():
            return Capabilities(reversible=entry.roll_back, deferred=False)
        case CommandEntry():
            back = entry.roll_back is not None
            return Capabilities(reversible=back, deferred=back and entry.commit is not None)
        case PythonEntry():
            return _of_class(entry.class_, folder)
        case _:
            return _NEITHER


def _of_class(name: str, folder: Path) -> Capabilities:
    found = named_in(name, folder)
    reversible = getattr(found, "reversible", False) is True
    return Capabilities(reversible, reversible and getattr(found, "deferred", False) is True)


def named_in(name: str, folder: Path) -> Any:
    """Import what `module:Class` names; raises ValueError where it cannot be found."""
    module_name, _, class_name = name.partition(":")
    place = str(folder)
    sys.path.insert(0, place)
    try:
        return getattr(importlib.import_module(module_name), class_name)
    except Exception as error:
        raise ValueError(
            f'"{name}" cannot be loaded ({not_loaded(error)}); write module:Class of an '
            "installed module or of a file beside the config"
        ) from error
    finally:
        sys.path.remove(place)
