"""What holds of a rule whatever it is given: laws over many inputs."""

from __future__ import annotations

import os
import re
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lifecycle.records import EvidencePacket
from sentinel_rules.change_window_open import Hours
from tests.builders import MAIL, NOW_MS, PROD, a_document
from tests.checking import found, sentinel_with

DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
LETTERS = {
    "f": "fFｆ𝐟ⓕ", "i": "iI1іⅰ", "n": "nNｎո", "a": "aA4@аɑ", "l": "lL1ⅼ", "w": "wWｗѡ",
    "r": "rRｒг", "g": "gGｇɡ", " ": " \n\t\u00a0-_",
}  # fmt: skip
NOTHING = st.sampled_from(["", "\u200b", "\u00ad", "<b></b>", "<!-- x -->", "\u0301", "**"])


@given(st.data())
def test_a_phrase_is_found_in_whatever_letters_and_with_whatever_between(data: Any) -> None:
    body = "".join(
        data.draw(st.sampled_from(LETTERS[letter])) + data.draw(NOTHING)
        for letter in "final warning"
    )
    document = a_document(MAIL, parameters=MAIL["parameters"] | {"body": f"Pat, {body}!"})

    assert ("prohibited_content", "prohibited_phrase", "parameters.body") in found(document)


@pytest.mark.parametrize(
    "piece",
    [
        *("=?", "=?a?q?", "=?utf-8?B?YQ?= ", "=?utf-7?Q?+AGEA-?=\n", "> ", ">\n", "\\\n"),
        *("<bdo dir=rtl>", "<bdo dir=rtl ", "<bdo dir", "<span direction : ", "</bdo>"),
        *("<i style=bidi-override direction:rtl>a", "$(", "[a", "%a", "user_", "U.", "\\U000"),
        *("\n- ", "\n#", "\n-#", "\n1", "\n1. ", "\n=", "\n- -", "\n|", "\n> \t", "- [ ] "),
    ],
)
def test_hostile_texts_take_linear_time_in_every_rule(piece: str) -> None:
    text = piece * (60_000 // len(piece))
    values = {"body": text, "path": text, "x": {text[:200]: [text[:500]] * 20}, "subject": "Hi"}
    document = a_document(MAIL, parameters=MAIL["parameters"] | values)

    begun = time.thread_time()

    codes = {code for _, code, _ in found(document)}

    assert time.thread_time() - begun < 1.0
    assert "rule_error" not in codes


@given(st.lists(st.sampled_from(["final", "x", "warning", "warn", "7", "<b>", "é", "hello"])))
def test_words_that_never_follow_each_other_are_no_phrase(words: list[str]) -> None:
    body = " and ".join(words)
    document = a_document(MAIL, parameters=MAIL["parameters"] | {"body": body})

    assert found(document) == set()


PIECES = st.sampled_from(
    [
        "/",
        "..",
        ".",
        "a",
        "out",
        "in",
        "work/",
        "~",
        "\\",
        "%2e",
        "*",
        "$X",
        " ",
        "\u202e",
        "．",
        "‥",
        "srv",
    ]
)


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with one link that leads outside and one that does not."""
    root = tmp_path_factory.mktemp("root") / "work"
    (root / "a").mkdir(parents=True)
    (root / "out").symlink_to(root.parent)
    (root / "in").symlink_to(root / "a")
    return root


@given(
    pieces=st.lists(PIECES, min_size=1, max_size=8),
    name=st.sampled_from(["path", "what"]),
    is_root=st.booleans(),
)
def test_no_path_that_passes_leads_out_of_the_root(
    root: Path, pieces: list[str], name: str, is_root: bool
) -> None:
    """Whatever passes is below the root for a tool that runs in it, or in the folder above it."""
    path, start = "".join(pieces), root if is_root else root.parent
    if name == "what" and "/" not in path:
        return  # one word of a field that no name calls a path is none
    bounded = sentinel_with("blast_radius_bounded", roots={"delete-data": str(root)})
    document = a_document(PROD, tool="delete-data", action_type="delete", parameters={name: path})

    if not found(document, bounded, real_path=lambda way: os.path.realpath(start / way)):
        assert Path(os.path.realpath(root / path)).is_relative_to(root)
        read_here = name == "path" or path.startswith("work/")
        assert not read_here or Path(os.path.realpath(start / path)).is_relative_to(root)


@pytest.mark.parametrize("path", ["/elsewhere/back", "/srv/work", "/srv"])
def test_a_path_outside_the_root_is_refused_wherever_a_link_leads_from_there(path: str) -> None:
    bounded = sentinel_with("blast_radius_bounded", roots={"delete-data": "/srv/work"})
    document = a_document(PROD, tool="delete-data", action_type="delete", parameters={"path": path})

    told = found(document, bounded, real_path=lambda way: "/srv/work/a" if way == path else way)
    assert ("blast_radius_bounded", "path_outside_root", "parameters.path") in told


@given(
    minute=st.integers(0, 7 * 24 * 60 - 1),
    begin=st.integers(0, 24 * 60 - 1),
    end=st.integers(0, 24 * 60),
    days=st.sets(st.sampled_from(DAYS)),
)
def test_hours_are_open_in_the_minutes_of_their_days(
    minute: int, begin: int, end: int, days: set[str]
) -> None:
    if begin == end:
        return
    hours = Hours.model_validate(
        {"zone": "UTC", "days": tuple(days), "from": _time(begin), "to": _time(end)}
    )
    monday = datetime(2026, 3, 2, tzinfo=UTC)
    length = (end - begin) % (24 * 60) or 24 * 60
    opened = {
        (number * 24 * 60 + begin + step) % (7 * 24 * 60)
        for number, day in enumerate(DAYS)
        if day in days
        for step in range(length)
    }

    assert hours.are_open(monday + timedelta(minutes=minute)) is (minute in opened)


@given(st.integers(0, 366 * 24 * 60), st.sampled_from(["Europe/Luxembourg", "America/New_York"]))
def test_hours_follow_the_clock_on_the_wall_all_year(minute: int, zone: str) -> None:
    hours = Hours.model_validate({"zone": zone, "days": DAYS, "from": "01:30", "to": "02:30"})
    now = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(minutes=minute)

    assert hours.are_open(now) is ("01:30" <= f"{now.astimezone(ZoneInfo(zone)):%H:%M}" < "02:30")


@pytest.mark.parametrize(("begin", "end"), [("08:00", "08:00"), ("24:00", "00:00")])
def test_hours_that_are_never_open_are_refused(begin: str, end: str) -> None:
    with pytest.raises(ValueError, match="hours that end when they begin"):
        Hours.model_validate({"zone": "UTC", "days": DAYS, "from": begin, "to": end})


def _time(minutes: int) -> str:
    return f"{minutes // 60:02}:{minutes % 60:02}"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.floats(-9, 9) | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=2), inner),
    max_leaves=4,
)
OPERATORS = ("eq", "ne", "gt", "lt", "contains", "matches")


def holds(operator: str, actual: Any, wanted: Any) -> bool:
    condition = {"field": "x", "operator": operator, "value": wanted, "evidence_ref": "e1"}
    packet = EvidencePacket(
        evidence_id="e1", source="crm-sensor", observed_at_ms=NOW_MS, recorded_at_ms=NOW_MS,
        payload={"x": actual},
    )  # fmt: skip
    document = a_document(MAIL, preconditions=[condition])
    codes = {code for rule, code, _ in found(document, evidence={"e1": packet})}
    return "precondition_false" not in codes


@given(JSON, JSON)
def test_of_two_values_no_two_contrary_conditions_hold(actual: Any, wanted: Any) -> None:
    true = {operator for operator in OPERATORS if holds(operator, actual, wanted)}

    assert len(true & {"eq", "ne"}) < 2
    assert len(true & {"eq", "gt", "lt"}) < 2
    assert actual is not None or not true
    assert type(actual) is not bool or type(wanted) is bool or not true


@given(st.text(max_size=6), st.text(max_size=6))
def test_a_pattern_is_about_the_whole_text(actual: str, plain: str) -> None:
    assert holds("matches", actual, re.escape(plain)) is (actual == plain)
