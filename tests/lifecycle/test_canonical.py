"""Canonical bytes are RFC 8785, whichever road wrote them."""

from __future__ import annotations

import base64
import enum
import hashlib
import json
import os
import uuid
from pathlib import Path
from typing import Any

import pytest
import rfc8785
from hypothesis import given
from hypothesis import strategies as st

from lifecycle.canonical import (
    canonical_bytes,
    canonical_fits,
    digest_of,
    policy_digest,
    r3_document,
    s256,
    sha256_hex,
)

ROOT = Path(__file__).parents[2]
VECTORS = ROOT / os.environ.get("SIGNOFF_VECTORS", "../shared/vectors") / "jcs_rfc8785"
NAMES = ("arrays", "french", "structures", "unicode", "values", "weird")

SAFE_INTEGERS = st.integers(-(2**53) + 1, 2**53 - 1)
LEAVES = (
    st.none()
    | st.booleans()
    | SAFE_INTEGERS
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text()
)
#: Few letters on both sides of the surrogates' range, so that the two orders of keys meet often.
KEYS = st.text() | st.text("ab\ud7ff\ue000\uffff\U00010000\U0010ffff", max_size=3)
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=20,
)


@pytest.mark.parametrize("name", NAMES)
def test_the_published_pairs_of_the_rfc_hold(name: str) -> None:
    source = VECTORS / "input" / f"{name}.json"
    if not source.exists():
        pytest.skip(f"no vectors at {VECTORS}: set SIGNOFF_VECTORS to run the published pairs")
    value = json.loads(source.read_text(encoding="utf-8"))
    assert canonical_bytes(value) == (VECTORS / "output" / f"{name}.json").read_bytes().strip()


@given(VALUES)
def test_the_fast_road_writes_what_the_rfc_writes(value: Any) -> None:
    assert canonical_bytes(value) == rfc8785.dumps(value)


@given(VALUES, st.integers(0, 40))
def test_a_value_fits_exactly_when_its_canonical_form_does(value: Any, limit_bytes: int) -> None:
    assert canonical_fits(value, limit_bytes) == (len(rfc8785.dumps(value)) <= limit_bytes)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"b": 1, "a": 2}, b'{"a":2,"b":1}'),
        ([1.0, 1e0, -0.0, 0.1, 1e-7, 1e21], b"[1,1,0,0.1,1e-7,1e+21]"),
        ({"ﬀ": 1, "😀": 2}, '{"😀":2,"ﬀ":1}'.encode()),
        (
            '\b\t\n\f\r\x1b\x7f\x85\u2028/"\\',
            '"\\b\\t\\n\\f\\r\\u001b\x7f\x85\u2028/\\"\\\\"'.encode(),
        ),
        ([2**53 - 1, -(2**53) + 1], b"[9007199254740991,-9007199254740991]"),
        ((1, (2,)), b"[1,[2]]"),
        (True, b"true"),
        ({}, b"{}"),
    ],
)
def test_a_value_has_one_spelling(value: Any, expected: bytes) -> None:
    assert canonical_bytes(value) == expected


class Colour(enum.Enum):
    RED = "red"


def endless() -> list[Any]:
    loop: list[Any] = []
    loop.append(loop)
    return loop


def nested(levels: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize(
    "value",
    [
        float("nan"),
        [float("inf")],
        2**53,
        -(2**53),
        10**5000,
        "\ud800",
        {"\udfff": 1},
        {1: "number as a key"},
        {None: 1},
        b"bytes",
        {1, 2},
        uuid.UUID(int=0),
        Colour.RED,
        [object()],
        endless(),
        nested(100_000),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_is_not_json_has_no_canonical_form(value: Any) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - the type is the promise
        canonical_bytes(value)


def test_a_digest_names_its_algorithm() -> None:
    empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    assert sha256_hex(b"") == empty
    assert digest_of(b"") == "sha256:" + empty


def test_s256_is_base64url_without_padding() -> None:
    # SHA-256 of "a" has bytes that plain base64 spells with + and /.
    assert s256(b"a") == "ypeBEsobvcr6wjGzmiPcTaeG7_gUfE5yuYB3ha_uSLs"
    assert base64.urlsafe_b64decode(s256(b"a") + "=") == hashlib.sha256(b"a").digest()


def test_a_policy_digest_is_versioned_and_ignores_the_order_of_keys() -> None:
    expected = "pol1_" + hashlib.sha256(b'{"a":[],"b":1}').hexdigest()
    assert policy_digest({"b": 1, "a": []}) == expected
    assert policy_digest({"a": [], "b": 1}) == expected
    assert policy_digest({"a": [], "b": 2}) != expected


def test_an_r3_document_holds_one_operation_and_its_parameters() -> None:
    written = r3_document(
        "urn:aauth:vocabulary:mcp",
        {"tool": "send_email"},
        {"summary": "Send an email"},
        {"to": "pat@partner.example"},
    )
    assert json.loads(written) == {
        "vocabulary": "urn:aauth:vocabulary:mcp",
        "operations": [{"tool": "send_email"}],
        "display": {"summary": "Send an email"},
        "parameters": {"to": "pat@partner.example"},
    }
    assert written == canonical_bytes(json.loads(written))


def test_an_r3_document_keeps_empty_parameters_and_leaves_out_an_absent_display() -> None:
    assert json.loads(r3_document("v", {"tool": "ping"}, None, {})) == {
        "vocabulary": "v",
        "operations": [{"tool": "ping"}],
        "parameters": {},
    }
