"""Find the values of a document that are paths.

The law: everything below a name that ends in one of `_PATHS` is one, and so is any text that is
written like a path, whatever its field is called. Where a path leads is judged by `plain_paths`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final
from unicodedata import normalize

from lifecycle.document import ProposalDocument
from lifecycle.paths import Parts
from lifecycle.text.field_names import readings_of
from lifecycle.text.values import CONSTRAINTS, PARAMETERS, Place

#: What names a target; a tool is handed all of it.
_TARGET: Final = ("resource_type", "resource_id", "domain")
#: The last word of a name, or its last two: `file_name`.
_PATHS: Final = frozenset(
    """
    path paths file files filename filenames filepath dir dirs directory directories folder folders
    pathname pathnames dirname dirnames foldername foldernames directoryname filelist pathlist
    """.split()
)
_PATH_SHAPE: Final = re.compile(r"[/\\~]|\.{1,2}(?:[/\\]|\Z)|[A-Za-z]:[/\\]")
#: A segment `..` anywhere in a path.
_UP: Final = re.compile(r"(?:\A|[/\\])\.\.(?:[/\\]|\Z)")
#: A name and a slash on one line; what follows may hold blanks, as in `q1/old data`.
_BELOW_A_FOLDER: Final = re.compile(r"[^\s/\\]++/[^\r\n]*+\Z")
_BLANK: Final = re.compile(r"\s")
_ESCAPED_SLASH: Final = re.compile(r"%(?:2[eEfF]|5[cC]|00|25)")


def paths_in(parameters: Mapping[str, Any]) -> Iterator[Place]:
    """Yield every path-like value of the parameters, at any depth.

    These are values below a name that ends in `path file dir directory folder …`, and values
    written like a path: with a segment `..`, with a slash and no blank before it, or with the
    beginning of one.
    """
    yield from _paths_below(parameters, PARAMETERS, is_path=False)


def paths_of(document: ProposalDocument) -> Iterator[Place]:
    """Yield every path-like value of parameters and constraints, and of what names the target."""
    yield from paths_in(document.parameters)
    yield from _paths_below(document.target.constraints, CONSTRAINTS, is_path=False)
    for name in _TARGET:
        value = getattr(document.target, name)
        if _is_written_like_a_path(value):
            yield Place(("target", name), value)


def is_called_a_path(parts: Parts) -> bool:
    """Return True if the name of a field on the way to a value ends in `path file dir folder …`."""
    return any(isinstance(part, str) and _says_path(part) for part in parts)


def _says_path(name: str) -> bool:
    """Return True for a name that ends in `path` or `file name`, in whichever style it is written:
    `filePath`, `file_name`, `filename`."""
    return any(
        not _PATHS.isdisjoint((words[-1], "".join(words[-2:])))
        for words in readings_of(name)
        if words
    )


def _paths_below(value: Any, parts: Parts, *, is_path: bool) -> Iterator[Place]:
    if isinstance(value, dict):
        for key, item in value.items():
            if is_path or _is_written_like_a_path(key):
                yield Place((*parts, key), key)
            named = is_path or _says_path(key)
            yield from _paths_below(item, (*parts, key), is_path=named)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _paths_below(item, (*parts, index), is_path=is_path)
    elif isinstance(value, str) and (is_path or _is_written_like_a_path(value)):
        yield Place(parts, value)


def _is_written_like_a_path(text: str) -> bool:
    shown = text.strip()
    if _PATH_SHAPE.match(shown) or _ESCAPED_SLASH.search(shown) or "\x00" in text:
        return True
    if ("/" in shown or "\\" in shown) and _BLANK.search(shown) is None:
        return True
    if _BELOW_A_FOLDER.match(shown):
        return True
    # Two dots may be written as one sign, and a slash in full width.
    return _UP.search(shown if shown.isascii() else normalize("NFKC", shown)) is not None
