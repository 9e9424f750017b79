"""M08: chat is not a vault. The masking that cards, lists, errors, logs and audit share."""

from __future__ import annotations

import json

import pytest

from lifecycle.text.masking import mask_secrets, mask_text

PARAMETERS = {
    "headers": {"Authorization": "Bearer abc.def"},
    "dsn": "postgres://u:pw@h/d",
    "api_key": "k-1234567890",
    "note": "api key rotation plan",
}
IN_CLEAR = ("abc.def", "u:pw", "k-1234567890")


def test_M08_every_credential_in_parameters_is_masked_and_the_rest_is_not():
    assert mask_secrets(PARAMETERS) == {
        "headers": {"Authorization": "‹secret, 14 characters›"},
        "dsn": "postgres://u:‹secret, 2 characters›@h/d",
        "api_key": "‹secret, 12 characters›",
        "note": "api key rotation plan",
    }


@pytest.mark.parametrize("cut", range(0, 60, 3))
def test_M08_invalid_json_that_is_quoted_is_masked(cut):
    text = json.dumps({"parameters": PARAMETERS})
    quoted = mask_text(text[: len(text) - cut])

    assert not [secret for secret in IN_CLEAR if secret in quoted]


def test_M08_the_words_of_an_error_are_masked():
    assert "pw@" not in mask_text("could not connect to postgres://u:pw@h/d (timeout)")
