"""Tell what each kind of tool can take back, from its settings alone (design section 7)."""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final, NamedTuple

from bot.config.own_code import module_in
from bot.config.tool_models import (
    CommandEntry,
    EmailEntry,
    PythonEntry,
    ToolEntry,
    WebhookEntry,
)
from lifecycle.located import NOT_LOADED, located, not_loaded
from lifecycle.nearest import meant


class Capabilities(NamedTuple):
    """`reversible`: it can roll back. `deferred`: execute only stages, commit carries it out."""

    reversible: bool
    deferred: bool


#: So many options that a class does not take are named.
_MOST_NAMED: Final = 3
_NEITHER = Capabilities(reversible=False, deferred=False)
#: What is taken of a class that is not known, so that nothing else is told as a mistake.
NOT_KNOWN: Final = Capabilities(reversible=True, deferred=False)


class OptionsMisfit(ValueError):
    """The class of a tool does not take the options that the config gives it."""


def capabilities(entry: ToolEntry, folder: Path | None) -> Capabilities:
    """Return what the tool can do; its class is looked for in `folder`, and not loaded if that is
    None.

    Raises ValueError if its class cannot be found, OptionsMisfit if the class does not take its
    options.
    """
    match entry:
        case EmailEntry():
            return Capabilities(reversible=True, deferred=True)
        case WebhookEntry():
            return Capabilities(reversible=entry.roll_back, deferred=False)
        case CommandEntry():
            back = entry.roll_back is not None
            return Capabilities(reversible=back, deferred=back and entry.commit is not None)
        case PythonEntry():
            return NOT_KNOWN if folder is None else _of_class(entry, folder)
        case _:
            return _NEITHER


def _of_class(entry: PythonEntry, folder: Path) -> Capabilities:
    found = class_in(entry.class_, folder)
    try:
        _check_options(found, entry)
        return capabilities_of(found)
    except OptionsMisfit:
        raise
    except NOT_LOADED as error:  # what a class says of itself may be computed
        words = f'"{entry.class_}" cannot be asked what it can do ({located(error)}): mend it'
        raise ValueError(words) from error


def capabilities_of(found: type[Any]) -> Capabilities:
    """Return what a class says that its tool can do; raises whatever the class raises."""
    reversible = getattr(found, "reversible", False) is True
    deferred = getattr(found, "deferred", False) is True
    return Capabilities(reversible, reversible and deferred)


def never_committed(found: type[Any], made: object = None) -> str | None:
    """Return words if what a class stages would be told as done and never be committed; else None.

    None means that the class says that it stages nothing, or that it is committed. `made` is the
    object, once there is one; it may say more than its class.
    """
    if capabilities_of(found).deferred:
        return None
    if getattr(found, "deferred", None) is True:
        return (
            "says that it is deferred, and not that it is reversible: write reversible = True and "
            "a roll_back(call)."
        )
    said = getattr(found if made is None else made, "deferred", None)
    if isinstance(said, int | str) and said:  # only what its class says is read
        return "is deferred, and its class does not say deferred = True: write that on the class."
    return None


def commit_unasked(found: type[Any]) -> str | None:
    """Return words about a commit method that nobody calls; None if there is none.

    The class may have it only because the port has one, or may have forgotten to say that it
    stages.
    """
    said = getattr(found, "deferred", None) is not None
    if said or not callable(getattr(found, "commit", None)):
        return None
    return (
        "has a commit(call) that nobody calls: write reversible = True and deferred = True, or "
        "deferred = False where execute acts at once."
    )


def takes(called: Any, *given: Any) -> bool:
    """Return True if it can be called with these arguments, or if nobody can tell beforehand."""
    try:
        taken = inspect.signature(called, follow_wrapped=False)
    except (TypeError, ValueError):
        return True
    try:
        taken.bind(*given)
    except TypeError:
        return False
    return True


def _check_options(found: type[Any], entry: PythonEntry) -> None:
    try:
        taken = inspect.signature(found)
    except (TypeError, ValueError):  # a class written in C may have no signature
        return
    try:
        taken.bind(**entry.options)
    except TypeError as error:
        raise OptionsMisfit(
            f'"{entry.class_}" does not take these options ({error}): they are handed to its '
            f"__init__ by name{_unknown(entry.options, taken)}"
        ) from error


def _unknown(options: Iterable[str], taken: inspect.Signature) -> str:
    """Name the options that are no argument: Python itself names only one that is missing."""
    kinds = {name: each.kind for name, each in taken.parameters.items()}
    if inspect.Parameter.VAR_KEYWORD in kinds.values():  # it takes any name
        return ""
    known = [name for name in kinds if kinds[name] != inspect.Parameter.VAR_POSITIONAL]
    names = [name for name in options if name not in known][:_MOST_NAMED]
    told = [f" {name!r} is no argument of it.{meant(name, known)}" for name in names]
    return "".join([".", *told]) if told else ""


def class_in(name: str, folder: Path) -> type[Any]:
    """Import the class that `module:Class` names. Raises ValueError if there is none."""
    found = _named_in(name, folder)
    if not isinstance(found, type):
        raise ValueError(f'"{name}" is no class: write module:Class')
    return found


def _named_in(name: str, folder: Path) -> Any:
    module_name, _, class_name = name.partition(":")
    try:
        return getattr(module_in(module_name, folder), class_name)
    except NOT_LOADED as error:
        raise ValueError(
            f'"{name}" cannot be loaded ({not_loaded(error)}): mend it, or write module:Class '
            "of an installed module or of a file beside the config"
        ) from error
