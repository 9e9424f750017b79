"""Load the code of an operator's own tools, once for a process, whatever its file says later."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from types import ModuleType
from typing import Final

#: The digest of each file as it was loaded.
_LOADED: Final[dict[Path, str]] = {}


def module_in(name: str, folder: Path) -> ModuleType:
    """Import a module, looking in `folder` first. Raises whatever its code raises."""
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
