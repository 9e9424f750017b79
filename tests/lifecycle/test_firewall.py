"""An agent is shown a bounded, masked frame and a handle (seed 004)."""

from __future__ import annotations

import json

import pytest

from lifecycle.calls.firewall import Budget, frame_of, framed, mask_private


def size(value) -> int:
    return len(json.dumps(value, separators=(",", ":"), ensure_ascii=False))


def test_fifty_rows_are_shown():
    frame = framed(list(range(80)), "h")

    assert frame.value == list(range(50))
    assert frame.warnings == ("30 of 80 rows were left out.",)


def test_twenty_fields_are_shown():
    frame = framed({f"f{n}": n for n in range(25)}, "h")

    assert len(frame.value) == 20
    assert "5 of 25 fields" in frame.warnings[0]


@pytest.mark.parametrize("value", [list(range(50)), {f"f{n}": n for n in range(20)}, "x" * 3_998])
def test_what_just_fits_is_shown_whole_and_nothing_is_said(value):
    frame = framed(value, "h")

    assert frame.value == value
    assert frame.warnings == ()


@pytest.mark.parametrize(
    "value",
    [
        "x" * 9_000,
        [{"a": "x" * 5_000}] * 3,
        ["y" * 300] * 50,
        {f"f{n}": "b" * 400 for n in range(20)},
        {"k" * 9_000: 1},
        [["z" * 30] * 50] * 50,
        [{f"f{n}": None for n in range(20)}] * 50,
    ],
)
def test_no_more_than_4000_characters_are_shown(value):
    frame = framed(value, "h")

    assert size(frame.value) <= 4_000
    assert any("4000 characters" in words for words in frame.warnings)


def test_what_is_masked_is_said_and_counts_as_what_is_shown_of_it():
    assert framed("iban DE89370400440532013000", "h").warnings == (
        "Credentials or personal data in a text were masked.",
    )
    named = {"password": "x" * 90, "note": "y" * 20}
    assert framed(named, "h", Budget(characters=60)).warnings == (
        "The field password was masked by its name.",
        "More than 60 characters: the rest was left out.",
    )


def test_containers_below_depth_three_are_left_out_unread():
    frame = framed({"a": {"b": {"c": {"password": "hunter2"}, "n": 1}}}, "h")

    assert frame.value == {"a": {"b": {"c": "‹nested too deep to show›", "n": 1}}}


def test_an_iban_is_masked_whole_and_not_taken_for_a_phone():
    assert mask_private("iban DE89370400440532013000.") == "iban ‹IBAN, 22 characters›."
    assert mask_private("DE89 3704 0044 0532 0130 00") == "‹IBAN, 27 characters›"
    assert mask_private("de89370400440532013000") == "‹IBAN, 22 characters›"


def test_a_card_number_that_is_a_number_is_masked():
    assert framed({"n": 4111111111111111}, "h").value == {"n": "‹card number, 16 characters›"}


@pytest.mark.parametrize(
    "number", [1_772_452_800_000, 4111111111111112, 123456, -4111111111111111, 0.5, 4e30]
)
def test_other_numbers_stay(number):
    assert framed([number], "h").value == [number]


def test_a_field_named_for_personal_data_is_masked_whatever_it_holds():
    frame = framed({"customer_email": "pat at partner", "ssn": 123456789, "api_key": "k"}, "h")

    assert frame.value == {
        "customer_email": "‹email address, 14 characters›",
        "ssn": "‹social security number, 9 characters›",
        "api_key": "‹secret, 1 characters›",
    }


def test_a_key_that_is_personal_data_is_masked():
    assert framed({"pat@partner.example": 1}, "h").value == {"‹email address, 19 characters›": 1}


def test_fields_whose_names_are_masked_alike_are_all_shown() -> None:
    """The last one took the place of the others, and nothing was said."""
    names = ("alice@partner.example", "bobby@partner.example", "carla@partner.example")

    frame = framed({name: {"owes": n} for n, name in enumerate(names)}, "h")

    address = "‹email address, 21 characters›"
    assert frame.value == {
        address: {"owes": 0},
        f"{address}′": {"owes": 1},
        f"{address}′2": {"owes": 2},
    }
    assert frame.warnings == ("Credentials or personal data in a text were masked.",)


@pytest.mark.parametrize(
    "value",
    [
        {"name": "DB_PASSWORD", "value": "hunter2"},
        [{"Key": "api_key", "Value": {"is": "hunter2"}}],
        {"user": "pat", "pass": "hunter2"},
        {"pass\u200bword": "hunter2"},
        ["deploy", "--password", "hunter2"],
        {"headers": [["X-Api-Key", "hunter2"], ["Accept", "text"]]},
        {"argv": ["curl", "-u", "pat:hunter2", "https://partner.example"]},
    ],
)
def test_a_credential_that_the_rule_would_find_in_parameters_is_masked_in_a_result(
    value: object,
) -> None:
    frame = framed(value, "h")

    assert "hunter2" not in json.dumps(frame.as_json())
    assert "masked" in frame.warnings[0]


@pytest.mark.parametrize(
    "value",
    [
        {"name": "password", "value": "<your password>"},
        {"name": "password", "value": None},
        {"user": "pat", "passed": 3},
        ["--password", "--verbose"],
        [["token", "created"], ["curl", "-u"]],
    ],
)
def test_what_only_looks_like_the_place_of_a_credential_is_shown(value: object) -> None:
    frame = framed(value, "h")

    assert frame.value == value
    assert frame.warnings == ()


@pytest.mark.parametrize(
    "text",
    [
        "postgres%3A%2F%2Fu%3Ahunter2%40h",
        "<b>password</b>=hunter2",
        "api_key\u200b=hunter2",
        "for a@partner.example: pass**word**=hunter2",
    ],
)
def test_a_credential_in_disguise_is_masked_with_its_line(text: str) -> None:
    shown = frame_of({"note": f"done\n{text}\nas asked"})

    assert "hunter2" not in json.dumps(shown)
    assert shown["value"]["note"].startswith("done\n‹secret, ")
    assert shown["value"]["note"].endswith("\nas asked")


def test_the_handle_is_the_digest_of_the_whole_unless_one_is_given():
    assert frame_of({"a": 1})["handle"] == (
        "sha256:015abd7f5cc57a2dd94b7590f04ad8084273905ee33ec5cebeae62276a97f862"
    )


def test_the_budget_can_be_another():
    assert framed([1, 2, 3], "h", Budget(rows=1)).value == [1]
