"""Which values in a field that says secret are credentials."""

from __future__ import annotations

import pytest

from lifecycle.text.secret_values import is_credential


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
