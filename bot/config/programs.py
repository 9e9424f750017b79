"""Note programs and methods that a config names and that do not exist, before the first call."""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from inspect import getattr_static, isfunction
from pathlib import Path
from typing import Any, Final

from bot.config.kinds import class_in, commit_unasked, never_committed, takes
from lifecycle.located import NOT_LOADED
from lifecycle.policy import ToolKind, ToolPolicy

_VERBS: Final = ("execute", "roll_back", "commit")
#: Programs whose first argument, unless it is an option, is the file that they run.
_INTERPRETERS: Final = re.compile(r"(python|pypy|ruby|perl|node|bash|dash|zsh|sh)[0-9.]*")


def with_python(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the environment for tools, with the folder of this Python at the end of PATH.

    So tools find `python3` wherever it is installed; the operator's own PATH comes first.
    """
    path = environment.get("PATH", os.defpath)
    return {**environment, "PATH": os.pathsep.join([path, str(Path(sys.executable).parent)])}


def programs_missing(
    tools: Iterable[ToolPolicy], folder: Path, environment: Mapping[str, str]
) -> Iterator[str]:
    """Yield a sentence for each tool of kind command that names a missing file; relative to
    `folder`.

    It is only a note: the file may come before the tool is called, or be on another machine.
    """
    path = with_python(environment)["PATH"]
    for tool in tools:
        if tool.kind is ToolKind.COMMAND:
            for verb in _VERBS:
                missing = _missing(tool.settings.get(verb) or (), folder, path)
                if missing is not None:
                    yield f"{tool.name} cannot {verb}: {missing} is not there."


def methods_missing(tools: Iterable[ToolPolicy], folder: Path) -> Iterator[str]:
    """Yield a sentence for each tool of kind python whose class lacks a method that is called, or
    has a commit that is not; relative to `folder`.

    It is only a note: an object may get methods when it is made, which a start tries and a check
    does not. A class that cannot be loaded or asked is no matter for a note: reading the config, or
    the start, tells of it.
    """
    for tool in tools:
        if tool.kind is ToolKind.PYTHON:
            with suppress(*NOT_LOADED):
                found = class_in(tool.settings["class"], folder)
                yield from _methods_missing(tool, found)


def _methods_missing(tool: ToolPolicy, found: type[Any]) -> Iterator[str]:
    name = tool.settings["class"]
    for verb in ["execute"] + ["roll_back"] * tool.reversible + ["commit"] * tool.deferred:
        method = getattr_static(found, verb, None)
        if method is None:
            yield f"{tool.name} cannot {verb}: {name} has no {verb}(call) of its own."
        elif isfunction(method) and not takes(method, "self", "call"):
            yield f"{tool.name} cannot {verb}: {name} must have it as {verb}(self, call)."
    if in_vain := never_committed(found) or commit_unasked(found):
        yield f"{tool.name} cannot commit: {name} {in_vain}"


def _missing(argv: Sequence[str], folder: Path, path: str) -> str | None:
    if not argv:
        return None
    program, *words = argv
    if not (_is_there(folder, program) if "/" in program else shutil.which(program, path=path)):
        return program
    runs = _INTERPRETERS.fullmatch(Path(program).name) and words and not words[0].startswith("-")
    return words[0] if runs and not _is_there(folder, words[0]) else None


def _is_there(folder: Path, name: str) -> bool:
    return os.path.exists(folder / name)  # noqa: PTH110 - a Path raises for what may not be seen
