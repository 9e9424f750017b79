"""The page of codes and the list in the law name the same things."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from lifecycle import codes

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "codes.md").read_text(encoding="utf-8")
ROW = re.compile(r"^\| `([^`]+)` \| (.+) \|$", re.MULTILINE)


def test_the_page_and_the_law_name_the_same_codes() -> None:
    told = {code for code, _ in ROW.findall(PAGE)}

    assert sorted(told - codes.ALL) == []
    assert sorted(codes.ALL - told) == []


def test_every_code_is_explained_in_a_sentence_of_its_own() -> None:
    words_of: dict[str, set[str]] = {}
    for code, words in ROW.findall(PAGE):
        assert re.fullmatch(r"[A-Z].+\.", words), f"{code}: {words!r} is no sentence."
        words_of.setdefault(words, set()).add(code)

    assert {words: shared for words, shared in words_of.items() if len(shared) > 1} == {}


def test_codes_are_stable_words() -> None:
    odd = [code for code in codes.ALL if not re.fullmatch(r"[a-z][a-z0-9_]+|V-PROP-\d{3}", code)]

    assert odd == []


def test_the_page_names_the_codes_that_are_said_nowhere() -> None:
    rooms = (ROOT / room for room in ("bot", "lifecycle", "sentinel_rules"))
    files = [path for room in rooms for path in room.rglob("*.py") if path.name != "codes.py"]
    said = set(re.findall(r"[\w-]+", "\n".join(path.read_text("utf-8") for path in files)))
    told = re.findall(r"^- `([^`]+)`: [^`]", PAGE.partition("## Never said here")[2], re.MULTILINE)

    assert sorted(codes.ALL - said) == sorted(told)


@pytest.mark.parametrize("retry", [codes.Retry.LATER, codes.Retry.NEVER])
def test_the_page_tells_what_may_be_tried_again(retry: codes.Retry) -> None:
    line = re.search(rf"^- `{retry.value}`: (.+)$", PAGE, re.MULTILINE)
    assert line is not None

    told = set(re.findall(r"`([^`]+)`", line.group(1)))

    assert told == {code for code in codes.ALL if codes.retry_of(code) is retry}
