"""Only a fence outside the texts of a document closes it."""

from __future__ import annotations

import json

import pytest

from bot.chat.terminal.unclosed import Unclosed
from tests.bot.chat.test_terminal_documents import one_open, typed
from tests.builders import NOW_MS
from tests.terminal import SEARCH, documents


@pytest.mark.parametrize("begin", ["```json\n", "\n```\n", "```"])
@pytest.mark.parametrize("indent", [None, 1])
async def test_a_fence_inside_a_text_of_the_document_closes_nothing(
    begin: str, indent: int | None
) -> None:
    terminal = await one_open()
    told = SEARCH | {"ts_ms": NOW_MS, "parameters": {"q": "run ```ls``` now", "more": "`"}}

    document = f"leila: propose {begin}{json.dumps(told, indent=indent)}\n```"
    lines = await typed(terminal, f"{document}\nreject d1 wrong")

    states = [(each["proposal_id"], each["state"]) for each in documents(lines)]
    assert states == [("s1", "completed"), ("d1", "rejected")]


@pytest.mark.parametrize(
    "text",
    [
        '```\n{"a": "run ```ls``` now",\n"```": ["``", "` ```"]}\n```',
        '```{"a": "```"}\n```',
        '`{"a": "x`",\n"b": "`"}`',
    ],
)
def test_a_line_with_a_fence_in_a_text_closes_nothing_in_whichever_parts_it_comes(
    text: str,
) -> None:
    for size in (1, 2, 3, 7, len(text)):
        found = Unclosed(text[0:3])
        for line in text[3:].splitlines(keepends=True):
            assert found.open, (size, line)
            for at in range(0, len(line), size):
                found.feed(line[at : at + size])
        assert not found.open
