"""Makes folders that only the bot's account may enter: for keys, drafts and the database."""

from __future__ import annotations

import errno
from pathlib import Path
from typing import Final

_OWNER_ALONE: Final = 0o700


def own_folder(folder: Path) -> None:
    """Make `folder` and its missing parents for this account alone, whatever its umask.

    An account that may write into a folder may replace the files in it, however they are protected
    themselves. A folder that exists is left as it is: somebody else decided who may enter it.
    Raises OSError.
    """
    try:
        folder.mkdir(mode=_OWNER_ALONE, exist_ok=True)
    except FileNotFoundError:
        if folder.parent == folder:
            raise
        own_folder(folder.parent)
        folder.mkdir(mode=_OWNER_ALONE, exist_ok=True)
    except FileExistsError:
        raise FileExistsError(errno.EEXIST, _in_its_place(folder), str(folder)) from None


def _in_its_place(folder: Path) -> str:
    if folder.is_symlink():
        return "it is a link to a folder that is not there"
    return "a file is in its place"
