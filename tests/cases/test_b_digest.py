"""Kind B: what a digest depends on, and what it does not."""

from __future__ import annotations

import json
from typing import Any

import pytest

from lifecycle.canonical import canonical_bytes, digest_of
from lifecycle.errors import Refused
from lifecycle.reading import read_object

MAIL: dict[str, Any] = {
    "proposal_id": "p1",
    "actor": "leila",
    "tool": "send-email",
    "target": {"resource_type": "email", "domain": "partner.example", "constraints": {}},
    "parameters": {"to": "pat@partner.example", "subject": "Rechnung für Zoë 😀", "body": "Hello"},
}


def digest(raw: bytes) -> str:
    return digest_of(canonical_bytes(read_object(raw)))


def turned_round(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    return {key: turned_round(value[key]) for key in reversed(value)}


def test_B01_another_order_other_spaces_and_escapes_are_the_same_proposal() -> None:
    plain = json.dumps(MAIL, ensure_ascii=False, separators=(",", ":")).encode()
    spellings = [
        json.dumps(turned_round(MAIL), ensure_ascii=False).encode(),
        json.dumps(MAIL, ensure_ascii=False, indent=4).encode(),
        json.dumps(MAIL, ensure_ascii=True).encode(),
    ]
    assert len({plain, *spellings}) == 4
    assert {digest(raw) for raw in spellings} == {digest(plain)}


@pytest.mark.parametrize(
    ("literal", "canonical"), [("1", "1"), ("1.0", "1"), ("1e0", "1"), ("-0.0", "0"), ("0", "0")]
)
def test_B02_a_number_keeps_its_digest_over_storing_and_loading(
    literal: str, canonical: str
) -> None:
    stored = canonical_bytes(read_object(f'{{"parameters":{{"n":{literal}}}}}'.encode()))
    assert stored == f'{{"parameters":{{"n":{canonical}}}}}'.encode()
    assert digest(stored) == digest_of(stored)


@pytest.mark.parametrize("literal", ["9007199254740993", "9007199254740993.0", "9007199254740992"])
def test_B02_an_integer_beyond_2_to_the_53_is_refused_and_never_merged(literal: str) -> None:
    with pytest.raises(Refused) as caught:
        read_object(f'{{"parameters":{{"n":{literal}}}}}'.encode())
    assert caught.value.code == "out_of_range"


def test_B03_two_spellings_of_a_letter_are_two_proposals() -> None:
    composed, decomposed = "caf\u00e9@partner.example", "cafe\u0301@partner.example"
    digests = {
        digest(json.dumps({"parameters": {"to": to}}).encode()) for to in (composed, decomposed)
    }
    assert len(digests) == 2
