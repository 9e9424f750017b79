"""Load the code of an operator's own tools, once for a process, whatever its file says later."""

from __future__ import annotations

import importlib
import sys
import sysconfig
from collections.abc import Callable, Iterator
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from threading import Thread
from traceback import walk_stack
from types import ModuleType
from typing import Final, TypeVar

T = TypeVar("T")

#: The digest of each file as it was loaded.
_LOADED: Final[dict[Path, str]] = {}
#: Threads that load such code and were waited for no longer.
_GIVEN_UP: Final[set[Thread]] = set()
#: Where Python's own library is, what installs below it, and our packages.
_LIBRARY: Final = sysconfig.get_path("stdlib")
_INSTALLED: Final = ("site-packages", "dist-packages")
_PROGRAM: Final = Path(__file__).resolve().parents[2]
_OURS: Final = ("bot", "lifecycle", "sentinel_rules")


class OwnCodeHangs(Exception):
    """The code of a rule or a tool that others wrote has not been loaded in time; the words say
    which."""


def loaded_in_time(load: Callable[[], T], within_s: float) -> T:
    """Return what `load` returns, which loads rules or tools that others wrote.

    Such code may wait for a dead server for ever. Raises OwnCodeHangs after `within_s` seconds, and
    else whatever `load` raises. From then on `module_in` loads nothing while that code hangs.
    """
    found: list[T] = []

    def loading() -> None:
        with suppress(BaseException):
            found.append(load())

    thread = Thread(target=loading, name="own code", daemon=True)
    thread.start()
    thread.join(within_s)
    if thread.is_alive():
        _GIVEN_UP.add(thread)
        raise OwnCodeHangs(f"{place_of(thread)} has not been loaded after {within_s:g} s")
    # What failed is loaded once more, here: some modules insist on the main thread.
    return found[0] if found else load()


def place_of(thread: Thread) -> str:
    """Return the file and line of others at which a thread is: the one that our own code called."""
    frame = sys._current_frames().get(thread.ident or 0)
    places = [(each.f_code.co_filename, line) for each, line in walk_stack(frame)]
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
    while other code hangs that may hold the module."""
    if any(each.is_alive() for each in _GIVEN_UP):
        raise ImportError("other code is still being loaded", name=name)
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
