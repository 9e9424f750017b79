"""No key twice, and no number that reading would change (design section 4, step 2)."""

from __future__ import annotations

import pytest

from lifecycle.errors import Refused
from lifecycle.first_gate.reading import read_object

KIB = 1024


def faults_of(raw: str) -> list[tuple[str, str]]:
    """Return (code, path) of every fault."""
    with pytest.raises(Refused) as caught:
        read_object(raw.encode())
    return [(fault.code, fault.path) for fault in caught.value.faults]


@pytest.mark.parametrize(
    ("raw", "paths"),
    [
        ('{"a":1,"a":1}', ["a"]),
        (r'{"a":1,"\u0061":2}', ["a"]),
        ('{"x":[0,{"y":{"a":1,"b":2,"a":3}}]}', ["x[1].y.a"]),
        ('{"a":1,"b":{"c":1,"c":2},"a":3,"d":1,"d":2}', ["a", "d", "b.c"]),
        ('{"a":{"b":1,"b":2},"a":{"c":1,"c":2}}', ["a", "a.b", "a.c"]),
        ('{"":1,"":2}', ['[""]']),
        ('{"a.b":1,"a.b":2}', ['["a.b"]']),
    ],
)
def test_every_repeated_key_is_named(raw: str, paths: list[str]) -> None:
    assert faults_of(raw) == [("duplicate_key", path) for path in paths]


def test_keys_that_only_look_alike_are_different() -> None:
    assert len(read_object('{"é":1,"e\u0301":2,"A":3,"a":4}'.encode())) == 4


# --------------------------------------------------------------------------------------- numbers


@pytest.mark.parametrize("literal", ["NaN", "Infinity", "-Infinity", "1e999", "-1e400", "9E9999"])
def test_a_number_that_is_not_finite_is_refused(literal: str) -> None:
    assert faults_of(f'{{"a":[{{"b":{literal}}}]}}') == [("non_finite_number", "a[0].b")]


@pytest.mark.parametrize(
    "literal",
    [
        "9007199254740992",
        "-9007199254740992",
        "9223372036854775808",
        "1" + "0" * 30,
        "7" * 5000,
        "9007199254740992.0",
        "1e16",
        "1e30",
        "-1e300",
    ],
    ids=lambda literal: literal[:20],
)
@pytest.mark.parametrize("padding", [0, 20 * KIB])
def test_a_number_beyond_2_to_the_53_is_refused_in_any_spelling(literal: str, padding: int) -> None:
    raw = f'{{"a":{{"b":[0,{literal}]}}}}' + " " * padding
    assert faults_of(raw) == [("out_of_range", "a.b[1]")]


@pytest.mark.parametrize(
    "literal",
    ["0.10000000000000001", "9007199254740990.6", "0." + "3" * 5000, "1e-400", "-1e-310"],
    ids=lambda literal: literal[:20],
)
def test_a_decimal_that_would_be_rounded_is_refused(literal: str) -> None:
    assert faults_of(f'{{"a":{literal}}}') == [("out_of_range", "a")]


@pytest.mark.parametrize(
    ("literal", "value"),
    [
        ("9007199254740991", 2**53 - 1),
        ("-9007199254740991", -(2**53) + 1),
        ("9007199254740991.0", 2**53 - 1),
        ("1e15", 10**15),
        ("0.1", 0.1),
        ("0.30000000000000004", 0.30000000000000004),
        ("1.50000000000000000000", 1.5),
        ("2.5e-300", 2.5e-300),
        ("-0.0", 0),
        ("0.000E-999", 0),
        ("-0", 0),
        ("1E0", 1),
    ],
)
def test_a_number_that_reading_does_not_change_is_taken(literal: str, value: float) -> None:
    assert read_object(f'{{"a":{literal}}}'.encode()) == {"a": value}
