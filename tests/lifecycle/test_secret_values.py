"""Which values in a field that says secret are credentials."""

from __future__ import annotations

import pytest

from lifecycle.text.secret_values import is_credential, stand_in
from lifecycle.text.secrets_found import find_secrets


@pytest.mark.parametrize(
    ("name", "value", "is_one"),
    [
        ("tokens", 512, False),
        ("tokens", "a1b2c3", True),
        ("token", 512, True),
        ("pin", 4711, True),
        ("cookies", "necessary", False),
        ("cookie_consent", None, False),
        ("cookies", "sid=abc", True),
        ("session_cookie", "a1b2c3", True),
        ("password", "necessary", True),
        ("password", False, False),
    ],
)
def test_numbers_of_tokens_and_words_about_cookies_are_no_credentials(
    name: str, value: object, is_one: bool
) -> None:
    assert is_credential(name, value) is is_one


@pytest.mark.parametrize(
    "value", ["%7B%7Btoken%7D%7D", "%7b%7b%20api.token%20%7d%7d", "%7Btoken%7D", "%24%7BTOKEN%7D"]
)
def test_a_slot_of_a_template_is_one_in_an_address_as_well(value: str) -> None:
    assert stand_in(value)
    assert find_secrets(f"https://a.example/?token={value}&page=2") == ()


@pytest.mark.parametrize(
    "value", ["%7Bhunter2", "hunter2%7D", "%7B%7D9xk2", "%7Bhunter2%7D", "a%7Btoken%7D9"]
)
def test_what_only_holds_an_escaped_brace_is_a_credential(value: str) -> None:
    assert not stand_in(value)
    assert find_secrets(f"https://a.example/?token={value}")
