"""The bytes of a document are read strictly and nothing is repaired (design section 4, step 2)."""

from __future__ import annotations

import json
import sys
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lifecycle.canonical import canonical_bytes
from lifecycle.codes import INTAKE
from lifecycle.errors import Fault, Refused
from lifecycle.first_gate.reading import (
    announced_size_refused,
    parameters_within_limit,
    read_object,
)
from lifecycle.first_gate.single_lines import control_character_faults

KIB = 1024


def faults_of(raw: bytes | str) -> list[tuple[str, str]]:
    """Return (code, path) of every fault."""
    data = raw.encode() if isinstance(raw, str) else raw
    with pytest.raises(Refused) as caught:
        read_object(data)
    return [(fault.code, fault.path) for fault in caught.value.faults]


def refusal_of(raw: bytes | str) -> Refused:
    data = raw.encode() if isinstance(raw, str) else raw
    with pytest.raises(Refused) as caught:
        read_object(data)
    return caught.value


def test_one_object_is_read_as_it_stands() -> None:
    raw = b' {"a": [1, -2.5, true, null, "\\u00e9\\ud83d\\ude00"], "b": {"c": {}}}\r\n'
    assert read_object(raw) == {"a": [1, -2.5, True, None, "é😀"], "b": {"c": {}}}


# ------------------------------------------------------------------------------------------ size


def test_a_document_of_256_kib_is_read_and_one_byte_more_is_not() -> None:
    exact = b'{"a":"' + b"x" * (256 * KIB - 8) + b'"}'
    assert len(exact) == 256 * KIB
    assert read_object(exact)
    assert faults_of(exact + b" ") == [("too_large", "")]


def test_size_is_judged_before_anything_else() -> None:
    assert faults_of(b"\xff[" * 256 * KIB) == [("too_large", "")]


def test_an_announced_size_is_refused_before_download() -> None:
    announced_size_refused(256 * KIB)
    with pytest.raises(Refused) as caught:
        announced_size_refused(256 * KIB + 1)
    assert caught.value.code == "too_large"
    assert caught.value.faults[0].actual == "262145 bytes"


@pytest.mark.parametrize("filler", ["x", "é", 1.5], ids=["ascii", "unicode", "decimals"])
def test_parameters_may_fill_64_kib_of_canonical_form(filler: Any) -> None:
    def of_size(size: int) -> dict[str, Any]:
        items = [filler] * 1000
        rest = size - len(canonical_bytes({"a": items, "b": ""}))
        return {"a": items, "b": "y" * rest}

    parameters_within_limit(of_size(64 * KIB))
    with pytest.raises(Refused) as caught:
        parameters_within_limit(of_size(64 * KIB + 1))
    assert [(fault.code, fault.path) for fault in caught.value.faults] == [
        ("too_large", "parameters")
    ]


def test_parameters_of_many_small_numbers_are_counted_exactly() -> None:
    shortest = {"a": [0.5] + [1] * 32_762}
    assert len(canonical_bytes(shortest)) == 64 * KIB - 1
    parameters_within_limit(shortest)


# ----------------------------------------------------------------------------------------- depth


def nested(levels: int, opening: str, closing: str) -> str:
    """A document of so many levels, the document itself being the first."""
    return '{"a":' + opening * (levels - 1) + "1" + closing * (levels - 1) + "}"


@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ('{"k":', "}")])
def test_32_levels_are_read_and_33_are_not(opening: str, closing: str) -> None:
    assert read_object(nested(32, opening, closing).encode())
    assert faults_of(nested(33, opening, closing)) == [("too_deep", "")]


def test_brackets_inside_strings_are_no_levels() -> None:
    text = "[{" * 100 + '\\"' + "[" * 100
    assert read_object(f'{{"a":"{text}"}}'.encode())


def test_brackets_in_a_string_that_never_ends_are_no_levels() -> None:
    assert faults_of(b'{"a":"' + b"[" * 40) == [("malformed_json", "")]


def test_many_lists_beside_each_other_are_not_deep() -> None:
    assert len(read_object(b'{"a":[' + b"[]," * 80_000 + b"0]}")["a"]) == 80_001


def test_a_deep_text_that_is_not_even_json_is_too_deep() -> None:
    assert faults_of(b"[" * 100_000) == [("too_deep", "")]


# --------------------------------------------------------------------------------------- unicode


@pytest.mark.parametrize(
    "raw",
    [b'{"a":"\xff"}', b'{"a":"\xed\xa0\x80"}', b'{"a":"\xc0\xaf"}', '{"a":1}'.encode("utf-16")],
    ids=["stray byte", "encoded surrogate", "overlong", "utf-16"],
)
def test_what_is_not_utf_8_is_refused(raw: bytes) -> None:
    assert faults_of(raw) == [("invalid_unicode", "")]


@pytest.mark.parametrize(
    ("raw", "path"),
    [
        (r'{"a":["x","\ud800"]}', "a[1]"),
        (r'{"a":"\udc00\ud800"}', "a"),
        (r'{"a":{"b":"\\\uDFFFx"}}', "a.b"),
        (r'{"a":{"\ud83d":1}}', 'a["\\ud83d"]'),
    ],
)
def test_an_escaped_lone_surrogate_is_refused_with_its_path(raw: str, path: str) -> None:
    assert faults_of(raw) == [("invalid_unicode", path)]


def test_an_escaped_backslash_before_a_u_is_no_surrogate() -> None:
    assert read_object(rb'{"a":"\\ud800"}') == {"a": r"\ud800"}


# ------------------------------------------------------------------------------------- malformed


@pytest.mark.parametrize(
    ("raw", "line", "column"),
    [
        (b"", 1, 1),
        (b" \n ", 2, 2),
        (b"\xef\xbb\xbf{}", 1, 1),
        (b"[1]", 1, 1),
        (b'  "text"', 1, 3),
        (b"1", 1, 1),
        (b"null", 1, 1),
        (b"NaN", 1, 1),
        (b"{} {}", 1, 4),
        (b'{"a":1}\ntrailing', 2, 1),
        (b'{"a":1,}', 1, 7 if sys.version_info >= (3, 13) else 8),  # 3.13 points at the comma
        (b'{"a":01}', 1, 7),
        (b'{"a":+1}', 1, 6),
        (b'{"a":.5}', 1, 6),
        (b'{"a":nan}', 1, 6),
        (b"{'a':1}", 1, 2),
        (b'{"a":1 // note\n}', 1, 8),
        (b'{"a":"one\ntwo"}', 1, 10),
        (b'{"a":"\\x41"}', 1, 7),
        (b'{\n  "a": tru\n}', 2, 8),
        ("{\u00a0}".encode(), 1, 2),
    ],
)
def test_anything_but_one_json_object_is_refused_where_it_goes_wrong(
    raw: bytes, line: int, column: int
) -> None:
    (fault,) = refusal_of(raw).faults
    assert fault.code == "malformed_json"
    assert fault.actual == f"line {line}, column {column}"


# ------------------------------------------------------------------------------- many, and words


def test_all_faults_of_the_document_are_collected() -> None:
    raw = r'{"a":NaN,"b":{"c":1,"c":1e999},"d":["\ud800",9007199254740993]}'
    assert faults_of(raw) == [
        ("non_finite_number", "a"),
        ("duplicate_key", "b.c"),
        ("non_finite_number", "b.c"),
        ("invalid_unicode", "d[0]"),
        ("out_of_range", "d[1]"),
    ]


def test_depth_and_encoding_are_reported_together() -> None:
    assert faults_of(b"[" * 40 + b"\xff") == [("too_deep", ""), ("invalid_unicode", "")]


def test_no_more_than_32_faults_are_listed() -> None:
    assert len(faults_of('{"a":[' + "NaN," * 1000 + "0]}")) == 32


@pytest.mark.parametrize(
    ("bad", "code"),
    [
        ('{"x":1,"x":2}', "duplicate_key"),
        ("NaN", "non_finite_number"),
        ("9007199254740993", "out_of_range"),
        (r'"\ud800"', "invalid_unicode"),
    ],
)
def test_a_fault_behind_very_many_lists_is_refused_all_the_same(bad: str, code: str) -> None:
    raw = '{"a":[' + "[0]," * 30_000 + f"[{bad}]]}}"
    assert [found for found, _ in faults_of(raw)] == [code]


@pytest.mark.parametrize(
    "raw",
    [
        '{"a":"hunter2","a":"hunter2"}',
        '{"a":"hunter2\\ud800"}',
        '{"a":"hunter2}',
        '{"a":"hunter2"} hunter2',
        '"hunter2"',
        '{"a":"hunter2" x',
    ],
)
def test_a_fault_never_repeats_a_value(raw: str) -> None:
    refusal = refusal_of(raw)
    told = json.dumps([fault.as_json() for fault in refusal.faults]) + str(refusal)
    assert "hunter2" not in told
    assert refusal.__cause__ is None
    assert refusal.__suppress_context__ or refusal.__context__ is None


def test_a_very_long_key_is_cut_short_in_the_path() -> None:
    key = "k" * 100_000
    ((_, path),) = faults_of(f'{{"{key}":1,"{key}":2}}')
    assert len(path) < 100


# ------------------------------------------------------------------------------------ properties

NUMBERS = st.integers(-(2**53) + 1, 2**53 - 1) | st.floats(-1e15, 1e15, allow_subnormal=False)
DOCUMENTS = st.dictionaries(
    st.text(),
    st.recursive(
        st.none() | st.booleans() | NUMBERS | st.text(),
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
        max_leaves=20,
    ),
    max_size=5,
)
PIECES = st.lists(
    st.sampled_from(
        (
            *("{", "}", "[", "]", ",", ":", '"', '"a"', '"\\u0061"', "\\", "\\ud800", "\\u", "1"),
            *("-0.0", "1e999", "NaN", "-Infinity", "null", "tru", " ", "\n", "\ufeff", "é", "0.1"),
            "9" * 20,
        )
    ),
    max_size=30,
).map(lambda pieces: "".join(pieces).encode())


@given(DOCUMENTS, st.booleans())
def test_reading_takes_what_a_serialiser_writes_and_comes_back_to_it(
    document: dict[str, Any], ascii_only: bool
) -> None:
    read = read_object(json.dumps(document, ensure_ascii=ascii_only).encode())
    assert read == document
    canonical = canonical_bytes(read)
    assert read_object(canonical) == read
    assert canonical_bytes(read_object(canonical)) == canonical


def read_or_faults(raw: bytes) -> tuple[dict[str, Any], tuple[Fault, ...]]:
    try:
        return read_object(raw), ()
    except Refused as refused:
        return {}, refused.faults


@given(st.binary(max_size=200) | PIECES | st.text().map(lambda text: f'{{"a":{text}}}'.encode()))
@example(b'{"a":"\\')
@example(b'{"a":"\\ud800\\')
@example(b'{"a":-}')
@example(b"{\x00}")
def test_any_bytes_are_a_canonical_document_or_a_refusal(raw: bytes) -> None:
    document, faults = read_or_faults(raw)
    assert {fault.code for fault in faults} <= INTAKE
    assert all(fault.suggestion for fault in faults)
    if not faults:
        assert read_object(canonical_bytes(document)) == document
        control_character_faults(document)
