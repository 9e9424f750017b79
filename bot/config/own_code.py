"""Load the code of an operator's own tools, once for a process, whatever its file says later."""

from __future__ import annotations

import importlib
import signal
import sys
import sysconfig
from collections.abc import Callable, Iterator
from contextlib import suppress
from hashlib import sha256
from itertools import takewhile
from pathlib import Path
from threading import current_thread, main_thread
from traceback import walk_stack
from types import FrameType, ModuleType
from typing import Final, TypeVar

T = TypeVar("T")

#: The digest of each file as it was loaded.
_LOADED: Final[dict[Path, str]] = {}
#: Places of such code that was waited for no longer.
_GIVEN_UP: Final[list[str]] = []
_AGAIN_S: Final = 1.0
#: Where Python's own library is, what installs below it, and our packages.
_LIBRARY: Final = sysconfig.get_path("stdlib")
_INSTALLED: Final = ("site-packages", "dist-packages")
_PROGRAM: Final = Path(__file__).resolve().parents[2]
_OURS: Final = ("bot", "lifecycle", "sentinel_rules")


class OwnCodeHangs(Exception):
    """The code of a rule or a tool that others wrote has not been loaded in time; the words say
    which."""


class _Late(BaseException):
    """Raised amid the code of others, which may catch any Exception; names where that was."""


def loaded_in_time(load: Callable[[], T], within_s: float) -> T:
    """Return what `load` returns, which loads rules or tools that others wrote.

    Such code may wait for a dead server for ever. Raises OwnCodeHangs after `within_s` seconds, and
    else whatever `load` raises; from then on `module_in` loads nothing in this process. The main
    thread alone is interrupted; elsewhere nothing is.
    """
    if current_thread() is not main_thread():
        return load()

    def late(_signal: int, frame: FrameType | None) -> None:
        raise _Late(place_of(frame))

    before = signal.signal(signal.SIGALRM, late)
    # Again and again, as the code may take even this for an error of its own.
    others = signal.setitimer(signal.ITIMER_REAL, within_s, _AGAIN_S)
    try:
        try:
            return load()
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
    except _Late as place:  # at the last moment it may come right before the alarm is put off
        signal.setitimer(signal.ITIMER_REAL, 0)
        _GIVEN_UP.append(str(place))
        raise OwnCodeHangs(f"{place} has not been loaded after {within_s:g} s") from None
    finally:
        signal.signal(signal.SIGALRM, before)
        signal.setitimer(signal.ITIMER_REAL, *others)


def place_of(frame: FrameType | None) -> str:
    """Return the file and line of others that run in a frame: the one that our own code called."""
    ours = loaded_in_time.__code__
    inside = takewhile(lambda place: place[0].f_code is not ours, walk_stack(frame))
    places = [(each.f_code.co_filename, line) for each, line in inside]
    theirs = [f"{file}:{line}" for file, line in places if _is_theirs(file)]
    return theirs[-1] if theirs else "The code of a rule or of a tool"


def _is_theirs(file: str) -> bool:
    path = Path(file)
    if not path.is_absolute():  # what is frozen into Python, or made while the program runs
        return False
    ours = any(path.is_relative_to(_PROGRAM / each) for each in _OURS)
    installed = not path.is_relative_to(_LIBRARY) or any(each in path.parts for each in _INSTALLED)
    return installed and not ours


def module_in(name: str, folder: Path) -> ModuleType:
    """Import a module, looking in `folder` first. Raises whatever its code raises, and ImportError
    once other code was waited for in vain: this may wait for the same, and be loaded later on."""
    if _GIVEN_UP:
        raise ImportError(f"nothing is loaded after {_GIVEN_UP[0]} hung", name=name)
    place = str(folder)
    sys.path.insert(0, place)
    try:
        module = importlib.import_module(name)
    finally:
        with suppress(ValueError):  # the module may have tidied the path itself
            sys.path.remove(place)
    if (file := getattr(module, "__file__", None)) and (digest := _digest_of(Path(file))):
        _LOADED.setdefault(Path(file), digest)
    return module


def changed_since_loaded() -> Iterator[str]:
    """Yield a sentence for each file that has changed since it was loaded; it needs a restart."""
    for file, loaded in sorted(_LOADED.items()):
        if _digest_of(file) not in (None, loaded):
            yield f"{file} was changed since the bot loaded it: restart the bot to work with it."


def _digest_of(file: Path) -> str | None:
    with suppress(OSError):
        return sha256(file.read_bytes()).hexdigest()
    return None
