"""From the bytes of a YAML file to plain values, and the line of every one of them."""

from __future__ import annotations

import math
import os
import re
import stat
from collections.abc import Callable
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from bot.config.problems import ConfigInvalid, Problem, Problems
from lifecycle.paths import Parts

#: A config is written by people; what is larger is a mistake or an attack.
LARGEST_FILE: Final = 256 * 1024
_MOST_VALUES: Final = 20_000
_DEEPEST: Final = 24
_TAG: Final = "tag:yaml.org,2002:"
#: 0755 is 755 to one reader and 493 to another.
_PADDED: Final = re.compile(r"[+-]?0[0-9]")
#: What YAML says of a second colon in a line, as in `database: memory:`.
_COLON: Final = "mapping values are not allowed here"
_TAGGED: Final = "a tag (!…) is not read here; a text that begins with ! stands in quotes"
_ALIAS: Final = "an alias (*…) that nothing explains; a text that begins with * stands in quotes"
#: Names under which a process finds what it was handed open.
_HANDED: Final = re.compile(r"/dev/(std(in|out|err)|fd/\d+)|/proc/[^/]+/(task/[^/]+/)?fd/\d+")
#: In the text of a version line: what YAML 1.1 takes for a truth or a number is another thing.
_VERSION: Final = re.compile(r"\ufeff?(?:\s|[#%][^\n]*\n)*?%YAML[ \t]+([0-9.]+)")
_READ_AS: Final = "1.2"
#: A number beyond has no exact place in the policy's canonical form.
_LARGEST_WHOLE: Final = 2**53 - 1
_NO_FOLDER: Final = (
    "this has no folder of its own, in which data/ would stand: write the config into a file, and "
    "name that"
)
#: What the library quotes, and what of it may be shown: a character, or a kind of its own.
#: Where a backslash seems to escape the end of it, all to the last such quote is taken for quoted.
_QUOTED: Final = re.compile(r"""(['"])((?:\\.|(?!\1|\\).)*+|.*)\1""")
_SHOWN: Final = re.compile(r"<[a-z ]+>|\\?.|\\x[0-9a-f]{2}|\\u[0-9a-f]{4}")


@dataclass(slots=True)
class Written:
    """What the file says: plain dicts, lists, strings, numbers, booleans and None.

    `digest` is that of its text, so that it is known again.
    """

    value: Any
    problems: Problems
    digest: str


@dataclass(slots=True)
class _Reader:
    problems: Problems
    lines: dict[Parts, int]
    left: int = _MOST_VALUES
    stopped: bool = field(default=False)

    def read(self, node: Node, parts: Parts) -> Any:
        """Return the plain value of `node`, which stands at `parts`."""
        self.lines.setdefault(parts, node.start_mark.line + 1)
        self.left -= 1
        if self.left < 0 or len(parts) > _DEEPEST:
            self._stop()
            return None
        if not isinstance(node, ScalarNode) and node.tag not in (_TAG + "map", _TAG + "seq"):
            self.problems.add(parts, _TAGGED)
        if isinstance(node, MappingNode):
            return self._mapping(node, parts)
        if isinstance(node, SequenceNode):
            return [
                self.read(item, (*parts, index))
                for index, item in enumerate(node.value)
                if not self.stopped
            ]
        return self._scalar(node, parts)

    def _stop(self) -> None:
        if not self.stopped:
            self.stopped = True
            self.problems.add(
                (),
                f"the file unfolds to more than {_MOST_VALUES} values or {_DEEPEST} levels; write "
                "it without aliases that repeat each other",
            )

    def _mapping(self, node: MappingNode, parts: Parts) -> dict[str, Any]:
        result: dict[str, Any] = {}
        for key_node, value_node in node.value:
            if self.stopped:
                break
            key = self._key(key_node, parts)
            if key is None:
                continue
            here = (*parts, key)
            line = key_node.start_mark.line + 1
            if key in result:
                words = f"this key stands in line {self.lines[here]} already; keep one of them"
                self.problems.add(here, words, line=line)
                continue
            self.lines[here] = line
            result[key] = self.read(value_node, here)
        return result

    def _key(self, node: Node, parts: Parts) -> str | None:
        is_text = isinstance(node, ScalarNode) and node.tag == _TAG + "str"
        if is_text and not _UNWRITABLE.search(node.value):
            return str(node.value)
        line = node.start_mark.line + 1
        shown = node.value if isinstance(node, ScalarNode) else "a mapping or a list"
        if is_text:
            words = _UNREAD["str"]
        elif isinstance(node, ScalarNode) and node.tag == _TAG + "merge":
            words = "merge keys (<<) are not read here; write the keys out"
        else:
            words = f"the key {shown} is no text; write it in quotes"
        self.problems.add(parts, words, line=line)
        return None

    def _scalar(self, node: Node, parts: Parts) -> Any:
        kind = str(node.tag).removeprefix(_TAG)
        read = _SCALARS.get(kind)
        try:
            if read is not None:
                return read(str(node.value))
            words = _TAGGED
        except ValueError:
            words = _UNREAD[kind]
        self.problems.add(parts, words)
        self.problems.unread.add(parts)
        return None


def _whole(text: str) -> int:
    if _PADDED.match(text):
        raise ValueError(text)
    number = int(text, 10)
    if abs(number) > _LARGEST_WHOLE:
        raise ValueError(text)
    return number


def _finite(text: str) -> float:
    number = float(text)
    if _PADDED.match(text) or not math.isfinite(number):
        raise ValueError(text)
    return number


def _text(text: str) -> str:
    if _UNWRITABLE.search(text):
        raise ValueError(ascii(text))
    return text


def _one_of(**words: Any) -> Callable[[str], Any]:
    """Return what reads these words, in any case, and no other: a tag may stand before anything."""

    def read(text: str) -> Any:
        if text.lower() not in words:
            raise ValueError(text)
        return words[text.lower()]

    return read


_SCALARS: Final[dict[str, Callable[[str], Any]]] = {
    "str": _text,
    "int": _whole,
    "float": _finite,
    "bool": _one_of(true=True, false=False),
    "null": _one_of(**{"": None, "~": None, "null": None}),
    "timestamp": _text,  # dates stay what was written; who needs one reads it strictly
}
#: What neither a file, an address, a program nor a digest can hold: NUL, and halves of characters.
_UNWRITABLE: Final = re.compile("[\0\ud800-\udfff]")
_NO_NUMBER: Final = (
    "this number is not read here; write it in decimal digits, finite and shorter, without a 0 "
    "before them; an id stands in quotes"
)
_NO_TEXT: Final = r"a text here holds no NUL (\0) and no half of a character (\ud800)"
#: Why a scalar of a kind cannot be read.
_UNREAD: Final = {
    "str": _NO_TEXT,
    "timestamp": _NO_TEXT,
    "int": _NO_NUMBER,
    "float": _NO_NUMBER,
    "bool": "write true or false, without a tag",
    "null": "nothing is meant by this tag; write the value alone",
}


def read_file(path: Path) -> Written:
    """Read `path` as YAML 1.2; raises ConfigInvalid where there is nothing to read.

    Keys that stand twice and values that are no plain YAML are noted in `problems`.
    """
    text = _text_of(path)
    lines: dict[Parts, int] = {}
    problems = Problems(path, lines)
    node = _composed(path, text)
    if node is None or (isinstance(node, ScalarNode) and not node.value):
        raise _invalid(path, 0, "the file is empty; an empty policy is a fault, not a permission")
    value = _Reader(problems, lines).read(node, ())
    if not isinstance(value, dict):
        problems.add(
            (), "the file must be a mapping with keys like people, agents, tools, sentinel"
        )
    problems.lines = lines
    digest = sha256(text.encode()).hexdigest()
    return Written(value if isinstance(value, dict) else {}, problems, digest)


def _text_of(path: Path) -> str:
    if _passing(path):
        raise _invalid(path, 0, _NO_FOLDER)
    try:
        with path.open("rb") as file:
            data = file.read(LARGEST_FILE + 1)
    except FileNotFoundError:
        raise _invalid(
            path, 0, "there is no such file; name one with --config FILE or SIGNOFF_CONFIG"
        ) from None
    except OSError as error:
        raise _invalid(path, 0, f"the file cannot be read ({error.strerror})") from None
    if len(data) > LARGEST_FILE:
        raise _invalid(path, 0, f"the file is larger than {LARGEST_FILE // 1024} KiB")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise _invalid(path, line, "the file is not UTF-8 from here on") from None


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


def _composed(path: Path, text: str) -> Node | None:
    version = _VERSION.match(text)
    if version is not None and version[1] != _READ_AS:
        line = text.count("\n", 0, version.start(1)) + 1
        words = f"only YAML {_READ_AS} is read here, in which yes is a text: take this line out"
        raise _invalid(path, line, words)
    yaml = YAML(typ="safe", pure=True)
    try:
        return yaml.compose(text)  # type: ignore[no-any-return]
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line + 1 if mark else 0
        words = f"this is not YAML: {_unquoted(error.problem or error.context)}"
        if error.problem == _COLON:
            words += '; a text with a colon stands in quotes, as in database: "memory:"'
        raise _invalid(path, line, words) from None
    except YAMLError as error:
        words = str(error).splitlines()[0] if str(error) else "unreadable"
        at = getattr(error, "position", None)  # of a character that no YAML may hold
        line = 0 if at is None else text.count("\n", 0, at) + 1
        raise _invalid(path, line, f"this is not YAML: {words}") from None
    except RecursionError:
        raise _invalid(path, 0, "the file is nested too deeply to be read") from None


def _unquoted(problem: str | None) -> str:
    """Return the library's words without what stands in the file: it may be a password."""
    words = problem or "unreadable"
    return _ALIAS if "undefined alias" in words else _QUOTED.sub(_shown, words)


def _shown(quoted: re.Match[str]) -> str:
    return quoted[0] if _SHOWN.fullmatch(quoted[2]) else "…"


def _invalid(path: Path, line: int, words: str) -> ConfigInvalid:
    return ConfigInvalid([Problem(str(path), line, "", words)])
