"""Say whether a path is one that all programs read alike, and whether it leads below a root."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final
from unicodedata import category, normalize

_ESCAPE: Final = re.compile(r"%[0-9A-Fa-f]{2}")
_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
#: The beginning of a path that is not a name, and what is written of a number that is not exact.
_BEGUN: Final = re.compile(r"[/~]|\.\.?(?:/|\Z)")
_ABOUT: Final = re.compile(r"~\s*\d[^/]*\Z")
#: A second path in one value: `work/a /etc/x`, `work/a,/`, `work/a ~root`, `work/a '../x'`. An
#: address has `://`, a comment `// `, a fraction ` / `; `~80` says about how many.
_ANOTHER: Final = re.compile(
    r"[\s,;:|>&][\"']?"
    r"(?:/(?![/\s])|(?<!:)//++(?!\s)|~(?!\s*[+-]?\d)[\w+-]*+(?:[\s/,;:|\"']|\Z)"
    r"|\.\.(?:[/,;:|\"']|\Z)|file:/)"
    r"|[,;|]/"
)
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


def names_another(path: str) -> bool:
    """Return True if a value names a second path behind a blank, a comma or another such sign."""
    return _ANOTHER.search(path) is not None


def is_below(path: str, root: str) -> bool:
    """Return True if a normal, absolute path is below another, and not that one itself."""
    return path.startswith(root.rstrip("/") + "/")


@dataclass(frozen=True, slots=True)
class Start:
    """A folder from which a tool reads relative paths; `begins` are the names there that lead to
    the root, as it is written and as it really is, None if every name is in the root."""

    folder: str
    begins: frozenset[str] | None

    def leads(self, path: str) -> bool:
        """Return True if a relative path begins as the root does."""
        return self.begins is None or _first(posixpath.normpath(path)) in self.begins


@dataclass(frozen=True, slots=True)
class Root:
    """A folder below which a tool's paths stay, as the config writes it and where it really is.

    `starts` are empty if the tool reads relative paths elsewhere than on this machine. `real_path`
    follows links.
    """

    written: str
    real: str
    starts: tuple[Start, ...]
    real_path: Callable[[str], str]

    def holds(self, path: str, *, called: bool) -> bool:
        """Return True if the path leads below the root, with and without blanks around it; `called`
        if its field says that it is a path. `./x` says so of itself."""
        return all(self._leads_below(each, called) for each in {path, path.strip()})

    def is_given_in(self, word: str) -> bool:
        """Return True if what stands behind a `=` (`of=/x`) is a path: it begins as one does, or as
        the root does from where the tool reads it. `= ~80` says about how many."""
        if _ABOUT.match(word) is not None:
            return False
        from_here = "/" in word and any(start.leads(word) for start in self.starts)
        return from_here or _BEGUN.match(word) is not None

    def _leads_below(self, path: str, called: bool) -> bool:
        whole = posixpath.normpath(posixpath.join(self.written, path))
        if not (is_plain_path(path) and is_below(whole, self.written)):
            return False
        if not is_below(self.real_path(whole), self.real):
            return False
        if path.startswith("/"):
            return True
        return all(
            is_below(self.real_path(posixpath.join(start.folder, path)), self.real)
            for start in self.starts
            if called or path.startswith("./") or start.leads(path)
        )


def root_at(written: str, real_path: Callable[[str], str], folders: Iterable[str]) -> Root:
    """Return a root with what is looked up once; `folders` are those from which a tool of this
    machine may read relative paths, and of which the absolute ones can be looked at."""
    real, starts = real_path(written), dict.fromkeys(map(real_path, filter(None, folders)))
    found = tuple(_start(each, written, real, real_path) for each in starts if each[:1] == "/")
    return Root(written, real, found, real_path)


def _start(start: str, written: str, real: str, real_path: Callable[[str], str]) -> Start:
    if start == real or is_below(start, real):
        return Start(start, None)
    begins, folder = {_first(posixpath.relpath(real, start))}, written
    while folder != posixpath.dirname(folder):
        folder, name = posixpath.split(folder)
        if real_path(folder) == start:  # its real path may be elsewhere, if there is a link below
            begins.add(name)
    return Start(start, frozenset(begins))


def _first(path: str) -> str:
    return path.split("/")[0]
