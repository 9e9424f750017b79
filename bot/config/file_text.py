"""From a path to the text of a config: a file of its own, in UTF-8, of bounded size."""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path
from typing import Final

from bot.config.problems import ConfigInvalid, Problem

#: A config is written by people; what is larger is a mistake or an attack.
LARGEST_FILE: Final = 256 * 1024
#: Names under which a process finds what it was handed open.
_HANDED: Final = re.compile(r"/dev/(std(in|out|err)|fd/\d+)|/proc/[^/]+/(task/[^/]+/)?fd/\d+")
_NO_FOLDER: Final = (
    "this has no folder of its own, in which data/ would stand: write the config into a file, and "
    "name that"
)


def text_of(path: Path) -> str:
    """Return what the file says; raises ConfigInvalid where it is no text that may be read."""
    if _passing(path):
        raise invalid(path, 0, _NO_FOLDER)
    try:
        with path.open("rb") as file:
            data = file.read(LARGEST_FILE + 1)
    except FileNotFoundError:
        raise invalid(
            path, 0, "there is no such file; name one with --config FILE or SIGNOFF_CONFIG"
        ) from None
    except OSError as error:
        raise invalid(path, 0, f"the file cannot be read ({error.strerror})") from None
    if len(data) > LARGEST_FILE:
        raise invalid(path, 0, f"the file is larger than {LARGEST_FILE // 1024} KiB")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise invalid(path, line, "the file is not UTF-8 from here on; save it as UTF-8") from None


def _passing(path: Path) -> bool:
    """Say whether it is a pipe, a device or a descriptor: whoever opened it knows where it stands.

    Paths are counted from the folder of the config; below /dev they would be gone by the next
    start. A pipe is gone once it was read, and keeps waiting whom nobody writes to.
    """
    try:
        kind = path.stat().st_mode
    except OSError:
        return False
    handed = _HANDED.fullmatch(os.path.normpath(path)) is not None
    return handed or not (stat.S_ISREG(kind) or stat.S_ISDIR(kind))


def invalid(path: Path, line: int, words: str) -> ConfigInvalid:
    """Return the one mistake that keeps a file from being read, in line 0 where in all of it."""
    return ConfigInvalid([Problem(str(path), line, "", words)])
