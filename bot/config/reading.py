"""Read a YAML file into plain values, with the line of every one of them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from bot.config.file_text import invalid, text_of
from bot.config.problems import ConfigInvalid, Problems
from bot.config.scalars import SCALARS, UNREAD, UNWRITABLE
from lifecycle.paths import Parts

_MOST_VALUES: Final = 20_000
_DEEPEST: Final = 24
_TOO_MUCH: Final = (
    f"up to here the file holds more than {_MOST_VALUES} values or {_DEEPEST} levels, each alias "
    "(*…) counted as what it stands for: take out what nobody needs"
)
_TAG: Final = "tag:yaml.org,2002:"
#: Remedies by words of the library, which tell about the grammar and not about the mistake.
_REMEDIES: Final = {
    "mapping values are not allowed here": "a text with a colon stands in quotes, as in database: "
    '"memory:"; or the line before has no colon, or begins in another column',
    "found character '\\t'": "indent with spaces, never with a tab",
    "expected <block end>": "what stands in one block begins in one column, and is keys alone or "
    "items (-) alone",
    "another document": "a config is one document, so take the line --- out",
}
_TAGGED: Final = "a tag (!…) is not read here; a text that begins with ! stands in quotes"
_ALIAS: Final = "an alias (*…) that nothing explains; a text that begins with * stands in quotes"
#: The version in a `%YAML` line. YAML 1.1 would read other words as booleans and numbers.
_VERSION: Final = re.compile(r"\ufeff?(?:\s|[#%][^\n]*\n)*?%YAML[ \t]+([0-9.]+)")
_READ_AS: Final = "1.2"
_NO_MAPPING: Final = "the file must be a mapping with keys like people, agents, tools, sentinel"
#: What the library quotes; and (`_SHOWN`) what of it may be shown: a character, or a token's kind.
#: If a backslash seems to escape the end, all up to the last such quote counts as quoted.
_QUOTED: Final = re.compile(r"""(['"])((?>(?:\\.|(?!\1|\\).)*)|.*)\1""")
_SHOWN: Final = re.compile(r"<[a-z ]+>|\\?.|\\x[0-9a-f]{2}|\\u[0-9a-f]{4}")


@dataclass(slots=True)
class Written:
    """What the file says: plain dicts, lists, strings, numbers, booleans and None.

    `digest` is the digest of its text, by which it is recognized later.
    """

    value: Any
    problems: Problems
    digest: str


@dataclass(slots=True)
class _Reader:
    problems: Problems
    lines: dict[Parts, int]
    left: int = _MOST_VALUES

    def read(self, node: Node, parts: Parts) -> Any:
        """Return the plain value of `node`, which stands at `parts`.

        Raises ConfigInvalid if the file holds too much: of what is not read, no mistake is told.
        """
        line = node.start_mark.line + 1
        self.lines.setdefault(parts, line)
        self.left -= 1
        if self.left < 0 or len(parts) > _DEEPEST:
            raise invalid(self.problems.file, line, _TOO_MUCH)
        if not isinstance(node, ScalarNode) and node.tag not in (_TAG + "map", _TAG + "seq"):
            self.problems.add(parts, _TAGGED)
        if isinstance(node, MappingNode):
            return self._mapping(node, parts)
        if isinstance(node, SequenceNode):
            return [self.read(item, (*parts, index)) for index, item in enumerate(node.value)]
        return self._scalar(node, parts)

    def _mapping(self, node: MappingNode, parts: Parts) -> dict[str, Any]:
        result: dict[str, Any] = {}
        for key_node, value_node in node.value:
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
        if is_text and not UNWRITABLE.search(node.value):
            return str(node.value)
        line = node.start_mark.line + 1
        shown = node.value if isinstance(node, ScalarNode) else "a mapping or a list"
        if is_text:
            words = UNREAD["str"]
        elif isinstance(node, ScalarNode) and node.tag == _TAG + "merge":
            words = "merge keys (<<) are not read here; write the keys out"
        else:
            words = f"the key {shown} is no text; write it in quotes"
        self.problems.add(parts, words, line=line)
        return None

    def _scalar(self, node: Node, parts: Parts) -> Any:
        kind = str(node.tag).removeprefix(_TAG)
        read = SCALARS.get(kind)
        try:
            if read is not None:
                return read(str(node.value))
            words = _TAGGED
        except ValueError:
            words = UNREAD[kind]
        self.problems.add(parts, words)
        self.problems.unread.add(parts)
        return None


def read_file(path: Path) -> Written:
    """Read `path` as YAML 1.2. Raises ConfigInvalid if there is nothing to read.

    Repeated keys and values that are no plain YAML are noted in `problems`.
    """
    text = text_of(path)
    lines: dict[Parts, int] = {}
    problems = Problems(path, lines)
    node = _composed(path, text)
    if node is None or (isinstance(node, ScalarNode) and not node.value):
        raise invalid(path, 0, "the file is empty; an empty policy is a fault, not a permission")
    value = _Reader(problems, lines).read(node, ())
    if not isinstance(value, dict):
        raise invalid(path, node.start_mark.line + 1, _NO_MAPPING)
    return Written(value, problems, _digest_of(text))


def text_digest_of(path: Path) -> str | None:
    """Return the digest of the file's text, whatever it says; None if it is no text."""
    try:
        return _digest_of(text_of(path))
    except ConfigInvalid:
        return None


def _digest_of(text: str) -> str:
    return sha256(text.encode()).hexdigest()


def _composed(path: Path, text: str) -> Node | None:
    version = _VERSION.match(text)
    if version is not None and version[1] != _READ_AS:
        line = text.count("\n", 0, version.start(1)) + 1
        words = f"only YAML {_READ_AS} is read here, in which yes is a text: take this line out"
        raise invalid(path, line, words)
    yaml = YAML(typ="safe", pure=True)
    try:
        return yaml.compose(text)  # type: ignore[no-any-return]
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line + 1 if mark else 0
        words = f"this is not YAML: {_unquoted(error.problem or error.context)}{_remedy(error)}"
        raise invalid(path, line, words) from None
    except YAMLError as error:
        words = str(error).splitlines()[0] if str(error) else "unreadable"
        at = getattr(error, "position", None)  # set for a character that YAML forbids
        line = 0 if at is None else text.count("\n", 0, at) + 1
        raise invalid(path, line, f"this is not YAML: {words}") from None
    except RecursionError:
        raise invalid(path, 0, "the file is nested too deeply to be read") from None


def _remedy(error: MarkedYAMLError) -> str:
    """Return what to do, after a semicolon; empty if the library's words say it."""
    said, opened = error.problem or "", error.context_mark
    if said.startswith("expected ',' or") and opened is not None:
        return f"; what line {opened.line + 1} opens is not closed before that"
    return next((f"; {words}" for part, words in _REMEDIES.items() if part in said), "")


def _unquoted(problem: str | None) -> str:
    """Return the library's words without what they quote of the file, perhaps a password."""
    words = problem or "unreadable"
    return _ALIAS if "undefined alias" in words else _QUOTED.sub(_shown, words)


def _shown(quoted: re.Match[str]) -> str:
    return quoted[0] if _SHOWN.fullmatch(quoted[2]) else "…"
