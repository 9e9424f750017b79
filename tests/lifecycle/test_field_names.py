"""A name is read in every style; who reads names reads all of its readings."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lifecycle.first_gate.digest_values import digest_faults
from lifecycle.first_gate.single_lines import control_character_faults
from lifecycle.policy import ActionType, ToolKind
from lifecycle.text.field_names import (
    ends_in,
    readings_of,
)
from lifecycle.text.path_values import paths_in
from lifecycle.text.recipients import recipients_in, says_end_of_a_time, says_recipient
from lifecycle.text.secret_names import secret_named
from lifecycle.text.values import named_in
from lifecycle.tier import Tier
from tests.builders import a_tool

ODD_CASE = ["bcC", "tO", "FROm", "rEply_To", "hEADERS", "rEcIpIeNt"]


@pytest.mark.parametrize(
    ("name", "readings"),
    [
        ("replyTo", (("reply", "to"), ("replyto",))),
        ("reply_to", (("reply", "to"),)),
        ("bcC", (("bc", "c"), ("bcc",))),
        ("X-fROM", (("x", "f", "rom"), ("x", "from"))),
        ("bсC", (("bc", "c"), ("bcc",))),
        ("1", ((),)),
        ("to١", (("to",),)),
        ("urӏ", (("uri",), ("url",))),
    ],
)
def test_a_capital_may_begin_a_word_or_mean_nothing(
    name: str, readings: tuple[tuple[str, ...], ...]
) -> None:
    assert readings_of(name) == readings


def test_a_name_of_many_strokes_has_few_readings() -> None:
    assert len(readings_of("ӏ" * 200)) == 16


@pytest.mark.parametrize(
    "behind",
    [
        *("\u200b", "\u0301", "\U000e0041", "-", "\u21921", "\uff3f "),
        *("\u2460", "\u00b2", "\u00bd", "\u6f22", "\u30fc", "\u05d0", "_\u0938"),
    ],
)
def test_nothing_behind_a_name_hides_what_it_says(behind: str) -> None:
    long = behind * 200
    content = {"parameters": {"bcc" + long: "eve@evil.test"}}
    placed = named_in({"host" + long: "x"}, ("parameters",), frozenset({"host"}))

    assert readings_of("reply_to" + long) == (("reply", "to"),)
    assert [place.value for place in recipients_in(content)] == ["eve@evil.test"]
    assert [place.value for place in placed] == ["x"]
    assert secret_named("password" + long)


@pytest.mark.parametrize("between", ["\u200b", "_", "1", "\u2460", "\u6f22 "])
def test_nothing_between_the_words_of_a_name_hides_what_they_say(between: str) -> None:
    long = between * 300

    assert readings_of(f"amount_{long}minor") == (("amount", "minor"),)
    assert secret_named(f"api_{long}key")


def test_what_looks_like_a_letter_is_read_at_the_end_of_a_long_name() -> None:
    assert secret_named("x_" * 150 + "passwor\U0001f173")


@given(st.text(max_size=300))
def test_every_name_can_be_read(name: str) -> None:
    assert readings_of(name)
    assert not ends_in(name, frozenset())


@pytest.mark.parametrize("name", ODD_CASE)
def test_a_recipient_is_one_in_any_letter_case(name: str) -> None:
    content = {"parameters": {name: "eve@evil.test"}}

    assert says_recipient(name)
    assert [place.path for place in recipients_in(content)] == [f"parameters.{name}"]


@pytest.mark.parametrize("name", ["to", "replyto", "reply-to", "mailTo", "cc2", "X-Forward-To"])
def test_a_recipient_is_one_in_any_style(name: str) -> None:
    assert says_recipient(name)


@pytest.mark.parametrize(
    ("name", "around", "is_time"),
    [
        ("date_to", "parameters", True),
        ("validFrom", "parameters", True),
        ("from", "period", True),
        ("to", "workingHours", True),
        ("to", "parameters", False),
        ("cc", "period", False),
        ("timeline", "period", False),
    ],
)
def test_the_ends_of_a_time_are_told_by_the_words_beside_them(
    name: str, around: str, is_time: bool
) -> None:
    assert says_end_of_a_time(name, around) is is_time


@pytest.mark.parametrize(
    ("parameters", "paths"),
    [
        ({"date_to": "2026-03-31", "period": {"from": "1.3.", "to": ["31.3."]}}, []),
        ({"date_to": "eve@evil.test"}, ["parameters.date_to"]),
        ({"period": {"to": ["eve＠evil.test"]}}, ["parameters.period.to[0]"]),
        ({"period": {"cc": "31.3."}}, ["parameters.period.cc"]),
        ({"bcc": {"period": {"to": "31.3."}}}, ["parameters.bcc.period.to"]),
    ],
)
def test_the_end_of_a_time_is_a_recipient_only_where_an_address_stands(
    parameters: dict[str, Any], paths: list[str]
) -> None:
    found = recipients_in({"parameters": parameters})

    assert [place.path for place in found] == paths


def test_a_name_without_a_word_names_no_recipient() -> None:
    assert list(recipients_in({"parameters": {"-": "ana@b.example"}})) == []


def test_hosts_and_paths_are_read_in_any_letter_case() -> None:
    assert [
        place.path for place in named_in({"hOST": "x"}, ("parameters",), frozenset({"host"}))
    ] == ["parameters.hOST"]
    assert [place.path for place in paths_in({"pATH": "a b"})] == ["parameters.pATH"]


@pytest.mark.parametrize(
    "name",
    "pASSWORD aPI_KEY aPIkEY tOKEN accesstoken SSHKEY signingkeys REFRESHTOKEN sessiontoken DBPASS "
    "sshpassphrase RECOVERYCODE seedphrase datenbankpasswort BENUTZERKENNWORT DBPWD userpasscode "
    "clientsecrets mypasswords bearertoken".split(),
)
def test_a_name_says_secret_in_any_letter_case(name: str) -> None:
    assert secret_named(name)


@pytest.mark.parametrize("name", ["pass_word", "pass-wd", "pass_phrase", "Seed Phrase"])
def test_a_name_says_secret_also_where_its_parts_stand_apart(name: str) -> None:
    assert secret_named(name)


@pytest.mark.parametrize("name", ["search_phrase", "last_word", "phrase"])
def test_words_and_phrases_that_are_not_for_passing_are_no_secret(name: str) -> None:
    assert not secret_named(name)


@pytest.mark.parametrize("name", ["sUBJECT", "bcC", "fILENAME", "aMOUNT", "replyto"])
def test_a_field_of_one_line_is_one_in_any_letter_case(name: str) -> None:
    (fault,) = control_character_faults({"parameters": {name: "a\nb"}})

    assert fault.path == f"parameters.{name}"


@pytest.mark.parametrize("name", ["bcC", "tO2", "aMOUNT", "hOST"])
def test_what_must_be_seen_whole_must_in_any_letter_case(name: str) -> None:
    tool = a_tool("pay", Tier.CONFIRM, ActionType.TRANSACT, kind=ToolKind.AGENT)
    digest = {"s256": "a" * 43, "excerpt": "x", "media_type": "text/plain"}

    assert [f.code for f in digest_faults(tool, Tier.CONFIRM, {name: digest})] == [
        "digest_not_allowed"
    ]
    assert digest_faults(tool, Tier.CONFIRM, {"report": digest}) == []
