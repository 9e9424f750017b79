"""Say whether a path is one that all programs read alike, and whether it is below another."""

from __future__ import annotations

import re
from typing import Final
from unicodedata import category, normalize

_ESCAPE: Final = re.compile(r"%[0-9A-Fa-f]{2}")
_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
#: Control, format and surrogate characters, and separators of lines and paragraphs.
_UNSEEN: Final = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})


def is_plain_path(path: str) -> bool:
    """Return True if all programs read the same path here."""
    shown = normalize("NFKC", path)
    return not (
        not shown.strip()
        or ".." in map(str.strip, shown.split("/"))
        or "\\" in shown
        or shown.startswith(("~", "//"))
        or _ESCAPE.search(shown)
        or _SCHEME.match(shown)
        or shown.count("/") != path.count("/")
        or any(category(c) in _UNSEEN for c in path)
    )


def is_below(path: str, root: str) -> bool:
    """Return True if a normal, absolute path is below another, and not that one itself."""
    return path.startswith(root.rstrip("/") + "/")
