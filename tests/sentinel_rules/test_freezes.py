"""A freeze stops what it names, all where it names nothing, from its first moment to its last."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest

from tests.builders import MAIL, PROD
from tests.checking import found, sentinel_with

RULE = "change_window_open"
BEGINS, ENDS = "2026-03-02T12:00:00Z", "2026-03-02T13:00:00Z"


def ms(moment: str) -> int:
    return int(datetime.fromisoformat(moment).timestamp() * 1000)


def said(document: dict[str, Any], now_ms: int, **settings: Any) -> set[str]:
    freeze = {"from": BEGINS, "until": ENDS} | settings
    everything = found(document, sentinel_with(RULE, freezes=[freeze]), now_ms=now_ms)
    return {code for rule, code, _ in everything if rule == RULE}


@pytest.mark.parametrize(
    ("now_ms", "is_frozen"),
    [
        (ms(BEGINS) - 1, False),
        (ms(BEGINS), True),
        (ms(ENDS) - 1, True),
        (ms(ENDS), False),
    ],
)
def test_a_freeze_holds_from_its_first_moment_and_ends_at_its_last(
    now_ms: int, is_frozen: bool
) -> None:
    assert said(MAIL, now_ms) == ({"change_freeze"} if is_frozen else set())


@pytest.mark.parametrize(
    ("tools", "frozen"),
    [
        ({}, [MAIL, PROD]),
        ({"tools": ["send-email"]}, [MAIL]),
        ({"tools": ["production-deploy", "send-email"]}, [MAIL, PROD]),
        ({"tools": ["search"]}, []),
    ],
)
def test_a_freeze_stops_the_tools_that_it_names_and_all_where_it_names_none(
    tools: dict[str, Any], frozen: list[dict[str, Any]]
) -> None:
    assert [each for each in (MAIL, PROD) if said(each, ms(BEGINS), **tools)] == frozen
