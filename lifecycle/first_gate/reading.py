"""Step 2 of design section 4 reads the bytes of a document strictly: nothing is repaired."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import accumulate, islice
from typing import Any, Final, cast

from lifecycle.canonical import canonical_fits
from lifecycle.errors import Fault, Refused
from lifecycle.first_gate.literals import Flaw, Literals
from lifecycle.paths import Parts, RepeatedKeys, containers, dotted, entries, values

#: A document on the wire.
DOCUMENT_LIMIT_BYTES: Final = 256 * 1024
#: The canonical form of `parameters`.
PARAMETERS_LIMIT_BYTES: Final = 64 * 1024
#: Objects and lists inside each other; the document itself is the first.
MAX_DEPTH: Final = 32
#: The most faults that are told: more of them would help nobody.
MOST_FAULTS: Final = 32

#: The most objects and lists that are searched for the places of faults. A fault further on is
#: still refused, at worst without its place.
_MOST_SEARCHED: Final = 4096

#: A string literal, to the end of the text where its closing quote is missing. Possessive, so that
#: every byte is looked at once.
_STRING: Final = re.compile(rb'"[^"\\]*+(?>(?:\\.[^"\\]*+)*)(?:"|\\?\Z)', re.DOTALL)
_OPENING: Final = b"[{"
_CLOSING: Final = b"]}"
_NO_BRACKETS: Final = bytes(set(range(256)) - set(_OPENING + _CLOSING))
#: An opening bracket becomes +1 and a closing one -1 when the bytes are read as signed.
_STEPS: Final = bytes.maketrans(_OPENING + _CLOSING, b"\x01\x01\xff\xff")

_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_SURROGATE_ESCAPE: Final = re.compile(r"\\u[dD][89a-fA-F]")
#: If a text has no number this long, every integer fits; worth a search in a long text.
_LONG_NUMBER: Final = re.compile(r"[0-9]{16}")
_LONG_TEXT: Final = 16 * 1024
_CURLY_QUOTES: Final = frozenset(
    "\u201c\u201d\u201e\u201f\u2018\u2019\u201a\u201b\u00ab\u00bb\uff02"
)
_WORTH_A_LOOK: Final = frozenset({str, Flaw})
_KINDS: Final = {list: "a list", str: "a string", bool: "true or false", type(None): "null"}


def read_object(
    raw: bytes, *, limit_bytes: int = DOCUMENT_LIMIT_BYTES, max_depth: int = MAX_DEPTH
) -> dict[str, Any]:
    """Read exactly one JSON object and return it as it stands (design section 4, step 2).

    Raises Refused with all faults that one pass can find, at most 32: `too_large` before anything
    else; `too_deep` and `invalid_unicode`; `malformed_json`; then, together, `duplicate_key`,
    `non_finite_number`, `out_of_range` and escaped lone surrogates. No fault repeats a value of the
    document.

    A number is taken only if reading it changes nothing: whatever its spelling, within ±(2^53-1)
    (so `1e20` is out of range like its integer twin, which its canonical form would be), and a
    decimal that a double gives back (`0.1`, not `0.10000000000000000001`, not `1e-400`). `1.0`,
    `1e0` and `-0.0` are read as floats; their canonical forms `1` and `0` follow RFC 8785.
    """
    announced_size_refused(len(raw), limit_bytes=limit_bytes)
    text = _text_of(raw, max_depth)
    literals = Literals()
    document = _parsed(text, literals)
    first = literals.first or _half_character(text, document)
    if first:
        found = tuple(islice(_faults_in(document), MOST_FAULTS))
        raise Refused(found or [first.fault("")])
    # Repeated keys are a flaw: what is left is a plain object.
    return cast("dict[str, Any]", document)


def announced_size_refused(size_bytes: int, *, limit_bytes: int = DOCUMENT_LIMIT_BYTES) -> None:
    """Raise Refused (`too_large`) if a document of this size may not even be downloaded."""
    if size_bytes > limit_bytes:
        raise Refused([_too_large("", "document", f"{size_bytes} bytes", limit_bytes)])


def parameters_within_limit(parameters: Mapping[str, Any]) -> None:
    """Raise Refused (`too_large`) if the canonical form of `parameters` is above the limit.

    Raises ValueError as `canonical_bytes` does, but never for what `read_object` returned.
    """
    if not canonical_fits(dict(parameters), PARAMETERS_LIMIT_BYTES):
        raise Refused([_too_large("parameters", "parameters", "more", PARAMETERS_LIMIT_BYTES)])


def _too_large(path: str, noun: str, actual: str, limit_bytes: int) -> Fault:
    return Fault(
        "too_large",
        path,
        required=f"at most {limit_bytes} bytes",
        actual=actual,
        suggestion=f"Make the {noun} smaller: at most {limit_bytes} bytes are read.",
    )


def _text_of(raw: bytes, max_depth: int) -> str:
    """Return the text. The depth is judged here, too: no parser may see what is too deep."""
    faults = []
    text = ""
    # Nearly every document has fewer brackets than levels are allowed.
    brackets = raw.count(b"{") + raw.count(b"[")
    if brackets > max_depth and (depth := _depth_of(raw)) > max_depth:
        faults.append(_too_deep(depth, max_depth))
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        faults.append(_no_utf8(error.start))
    if faults:
        raise Refused(faults)
    return text


def _depth_of(raw: bytes) -> int:
    brackets = _STRING.sub(b"", raw).translate(_STEPS, _NO_BRACKETS)
    return max(accumulate(memoryview(brackets).cast("b")), default=0)


def _too_deep(depth: int, max_depth: int) -> Fault:
    return Fault(
        "too_deep",
        required=f"at most {max_depth} levels of objects and lists",
        actual=f"{depth} levels",
        suggestion=f"Flatten the document to {max_depth} levels of objects and lists.",
    )


def _no_utf8(position: int) -> Fault:
    return Fault(
        "invalid_unicode",
        required="UTF-8",
        actual=f"byte {position + 1} is not UTF-8",
        suggestion="Encode the document as UTF-8.",
    )


def _parsed(text: str, literals: Literals) -> dict[str, Any] | RepeatedKeys:
    all_short = len(text) > _LONG_TEXT and not _LONG_NUMBER.search(text)
    decoder = json.JSONDecoder(
        parse_int=int if all_short else literals.integer,
        parse_float=literals.decimal,
        parse_constant=literals.constant,
        object_pairs_hook=literals.fields,
    )
    try:
        document = decoder.decode(text)
    except json.JSONDecodeError as error:
        raise Refused([_malformed(error)]) from None
    if isinstance(document, (dict, RepeatedKeys)):
        return document
    raise Refused([_no_object(document, text)])


def _half_character(text: str, document: Any) -> Flaw | None:
    """Return a flaw for a lone surrogate; only an escape can bring one into a UTF-8 text."""
    if not _SURROGATE_ESCAPE.search(text):
        return None
    halves = _SURROGATE.search(json.dumps(document, ensure_ascii=False, default=str))
    return Flaw.HALF_CHARACTER if halves else None


def _no_object(document: Any, text: str) -> Fault:
    start = json.JSONDecodeError("no object", text, len(text) - len(text.lstrip()))
    kind = _KINDS.get(type(document), "a number")
    return _at(start, f"The document is {kind}: send one JSON object in braces.")


def _malformed(error: json.JSONDecodeError) -> Fault:
    bad = error.doc[error.pos : error.pos + 1]
    where = f"line {error.lineno}, column {error.colno}"
    if bad == "\ufeff":
        return _at(error, f"Remove the byte order mark at {where}.")
    if bad in _CURLY_QUOTES:
        return _at(error, f"Write a straight quotation mark or none at {where}, not a curly one.")
    if not error.doc.strip():
        return _at(error, "There is no JSON here: send one JSON object.")
    if error.msg.startswith("Extra data"):
        return _at(error, f"Send one JSON object and nothing after it; more begins at {where}.")
    complaint = error.msg.partition(":")[0].removesuffix(" at").lower()
    return _at(error, f"Correct the JSON at {where} ({complaint}).")


def _at(error: json.JSONDecodeError, suggestion: str) -> Fault:
    return Fault(
        "malformed_json",
        required="exactly one JSON object",
        actual=f"line {error.lineno}, column {error.colno}",
        suggestion=suggestion,
    )


def _faults_in(document: Any) -> Iterator[Fault]:
    for parts, container in containers(document, at_most=_MOST_SEARCHED):
        if not isinstance(container, list) or isinstance(container, RepeatedKeys):
            yield from _faults_of_keys(parts, container)
        if not _WORTH_A_LOOK.isdisjoint(map(type, values(container))):
            yield from _faults_of_values(parts, container)


def _faults_of_keys(parts: Parts, container: Any) -> Iterator[Fault]:
    keys = [key for key, _ in entries(container)]
    repeated = Counter(keys) if isinstance(container, RepeatedKeys) else {}
    for key in dict.fromkeys(keys):
        if repeated.get(key, 1) > 1:
            yield Flaw.REPEATED.fault(dotted((*parts, key)))
        if _SURROGATE.search(key):
            yield Flaw.HALF_CHARACTER.fault(dotted((*parts, key)))


def _faults_of_values(parts: Parts, container: Any) -> Iterator[Fault]:
    for key, value in entries(container):
        if isinstance(value, Flaw):
            yield value.fault(dotted((*parts, key)))
        if type(value) is str and _SURROGATE.search(value):
            yield Flaw.HALF_CHARACTER.fault(dotted((*parts, key)))
