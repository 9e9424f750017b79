"""Read the text of a config from its path: a regular file in UTF-8, of bounded size."""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path
from typing import Final

from bot.config.problems import ConfigInvalid, Problem

#: People write configs; a larger file is a mistake or an attack.
_MOST_KIB: Final = 256
_LARGEST_FILE: Final = _MOST_KIB * 1024
#: Paths of the descriptors that a process was started with.
_HANDED: Final = re.compile(r"/dev/(std(in|out|err)|fd/\d+)|/proc/[^/]+/(task/[^/]+/)?fd/\d+")
_NO_FOLDER: Final = (
    "this has no folder of its own, in which data/ would stand: write the config into a file, and "
    "name that"
)


def text_of(path: Path) -> str:
    """Return the text of the file. Raises ConfigInvalid if it is no text that can be read."""
    if _passing(path):
        raise invalid(path, 0, _NO_FOLDER)
    try:
        with path.open("rb") as file:
            data = file.read(_LARGEST_FILE + 1)
    except FileNotFoundError:
        raise invalid(
            path, 0, "there is no such file; name one with --config FILE or SIGNOFF_CONFIG"
        ) from None
    except OSError as error:
        raise invalid(path, 0, f"the file cannot be read ({error.strerror})") from None
    if len(data) > _LARGEST_FILE:
        raise invalid(path, 0, f"more than {_MOST_KIB} KiB: take out what nobody needs")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise invalid(path, line, "the file is not UTF-8 from here on; save it as UTF-8") from None


def _passing(path: Path) -> bool:
    """Return True if it is a pipe, a device or a descriptor: its real place is not known.

    Paths are relative to the folder of the config; below /dev they would be gone at the next start.
    A pipe is empty once it was read, and one that nobody writes to would be waited for.
    """
    try:
        kind = path.stat().st_mode
    except OSError:
        return False
    handed = _HANDED.fullmatch(os.path.normpath(path)) is not None
    return handed or not (stat.S_ISREG(kind) or stat.S_ISDIR(kind))


def invalid(path: Path, line: int, words: str) -> ConfigInvalid:
    """Return the one mistake that keeps a file from being read; line 0 is the whole file."""
    return ConfigInvalid([Problem(str(path), line, "", words)])
