"""Credentials in disguise, and credentials that are known by what stands beside them."""

from __future__ import annotations

import pytest

from lifecycle.text.masking import mask_secrets, mask_text


@pytest.mark.parametrize(
    "disguised",
    [
        "api_key\u200b=hunter2",
        "p\u0430ssword=hunter2",
        "\uff41\uff50\uff49\uff3f\uff4b\uff45\uff59\uff1dhunter2",
        "api%5Fkey=hunter2",
        "api&#95;key=hunter2",
        "\\u0061pi_key=hunter2",
        "pass**word**=hunter2",
        "`password`: `hunter2`",
        "**password:** hunter2",
        "<b>password</b>=hunter2",
        "postgres://u%3Ahunter2@h",
    ],
)
def test_a_credential_in_a_disguise_is_masked_with_its_line(disguised: str) -> None:
    shown = mask_text(f"Dear Pat,\n{disguised}\nLeila")

    assert "hunter2" not in shown
    assert shown.startswith("Dear Pat,\n")
    assert shown.endswith("\nLeila")
    assert mask_text(shown) == shown


def test_a_disguise_that_reaches_over_lines_is_masked_whole() -> None:
    text = "**password:**\nhunter2x"

    assert mask_text(text) == f"‹secret, {len(text)} characters›"


@pytest.mark.parametrize(
    "text",
    [
        "-----BEGIN **PRIVATE KEY**-----\nMIIEabcd\nefgh\n-----END PRIVATE KEY-----",
        "-----BEGIN RSA\u200b PRIVATE KEY-----\nMIIEabcd\nefgh",
        "use\n-----BEGIN <b>PRIVATE KEY-----</b>\nMIIEabcd\nefgh",
    ],
)
def test_a_disguised_credential_of_many_lines_is_masked_to_its_last_one(text: str) -> None:
    assert "MIIE" not in mask_text(text)
    assert "efgh" not in mask_text(text)


@pytest.mark.parametrize("text", ["password=<b>hunter2</b>", "password=<b> hunter2</b>"])
def test_a_tag_that_dresses_is_no_slot(text: str) -> None:
    assert "hunter2" not in mask_text(text)


def test_a_slot_stands_for_a_credential_whatever_markup_is_around_it() -> None:
    text = "**Set** token=<your token> and run `deploy2`"

    assert mask_text(text) == text


@pytest.mark.parametrize("name", ["name", "key", "variable", "header", "field"])
def test_a_credential_is_known_by_the_name_beside_it(name):
    listed = {"env": [{name: "DB_PASSWORD", "value": "hunter2"}, {name: "COLOUR", "value": "red"}]}

    shown = mask_secrets(listed)["env"]

    assert shown == [
        {name: "DB_PASSWORD", "value": "‹secret, 7 characters›"},
        {name: "COLOUR", "value": "red"},
    ]


@pytest.mark.parametrize(
    ("value", "masked"),
    [
        ({"Name": "DB_PASSWORD", "Value": "hi4x"}, {"Value"}),
        ({"k": "api_key", "v": "hi4x"}, {"v"}),
        ({"op": "replace", "path": "/spec/password", "value": "hi4x"}, {"value"}),
        ({"username": "pat", "Pass": "hi4x"}, {"Pass"}),
        ({"name": "DB_PASSWORD", "NAME": "colour", "value": "hi4x"}, {"value"}),
        ({"Name": "api_key", "value": "hi4x", "Value": "hi4x"}, {"value", "Value"}),
        ({"passwordConfirm": "hi4x", "recovery_code": "hi4x", "Passwort": "hi4x"},
         {"passwordConfirm", "recovery_code", "Passwort"}),
        ({"path": "/spec/colour", "value": "hi4x"}, set()),
        ({"boarding": "12A", "pass": "hi4x"}, set()),
        ({"type": "pin", "value": "hi4x"}, set()),
        ({"user": "pat", "pass": "${PASSWORD}"}, set()),
        ({"zip_code": "hi4x", "catch_phrase": "hi4x", "newest": "hi4x"}, set()),
    ],
)  # fmt: skip
def test_a_credential_is_known_by_what_stands_beside_it(
    value: dict[str, str], masked: set[str]
) -> None:
    shown = mask_secrets(value)

    assert {key for key in value if shown[key] != value[key]} == masked
    assert "hi4x" not in "".join(shown[key] for key in masked)


@pytest.mark.parametrize(
    ("items", "place"),
    [
        (["login", "--password", "hi4x", "--verbose"], 2),
        (["X-Api-Key", "hi4x"], 1),
        (["--password", "--verbose"], None),
        (["--password", "$PASSWORD"], None),
        (["--max-tokens", "4096"], None),
        (["password", "reset"], None),
        (["token", "created_at"], None),
        (["token", "hi4x", "more"], None),
        (["--pin", 4711], 1),
        (["--tokens", 4096], None),
        (["--password", True], None),
        (["Secret", "Level 3"], None),
        (["Token:", "see page 4"], None),
        (["curl", "-u", "pat:hi4x", "https://x.example"], 2),
        (["mysql", "-u", "root", "-phi4x"], 3),
        (["The password is", "hi4xhi4x"], 1),
    ],
)
def test_a_credential_is_known_by_what_stands_before_it(
    items: list[object], place: int | None
) -> None:
    shown = mask_secrets({"args": items})["args"]

    assert [n for n, item in enumerate(items) if shown[n] != item] == [n for n in [place] if n]


def test_the_nearest_name_says_what_stands_below_it() -> None:
    value = {"secrets": {"cookies": "necessary", "tokens": 512, "pin": 4711, "x": ["hi4x"]}}

    assert mask_secrets(value)["secrets"] == {
        "cookies": "necessary",
        "tokens": 512,
        "pin": "‹secret, 4 characters›",
        "x": ["‹secret, 4 characters›"],
    }


def test_what_stands_for_a_credential_may_hold_another_one() -> None:
    text = "[see AKIA" + "IOSFODNN7EXAMPLE]"

    assert mask_secrets({"password": text}) == {"password": f"‹secret, {len(text)} characters›"}


def test_a_disguise_in_a_list_masks_its_texts() -> None:
    shown = mask_secrets({"args": ["pass**word**=", "hunter2", 7]})

    assert shown["args"] == ["‹secret, 13 characters›", "‹secret, 7 characters›", 7]
