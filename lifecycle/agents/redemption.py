"""Compare the actual call with the approved one, value by value, at redemption (seed 003)."""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from typing import Any, Final

import orjson

from lifecycle.canonical import canonical_bytes, s256
from lifecycle.errors import PermitRefused
from lifecycle.text.masking import mask_text

_CUT: Final = "…"
_DIGEST_FIELDS: Final = frozenset({"s256", "excerpt", "media_type"})


def is_digest_value(value: Any) -> bool:
    """Return True if a value stands for bytes not shown here: `{s256, excerpt?, media_type?}`."""
    return (
        isinstance(value, Mapping)
        and isinstance(value.get("s256"), str)
        and value.keys() <= _DIGEST_FIELDS
    )


def approved_parameters(r3_document: bytes, r3_s256: str) -> Mapping[str, Any]:
    """Return the parameters of a stored R3 document, whose bytes must still fit their hash.

    Raises PermitRefused: `proposal_not_referenced` without a hash, `digest_mismatch` if the bytes
    are others, `invalid_r3_document` if they are no R3 document, `invalid_proposal` if it has no
    parameters.
    """
    if not r3_s256:
        raise PermitRefused("proposal_not_referenced", "The call names no approved proposal.")
    if not hmac.compare_digest(s256(r3_document), r3_s256):
        raise PermitRefused("digest_mismatch", "The stored document is not what was approved.")
    document = orjson.loads(r3_document)
    check_r3_document(document)
    parameters = document.get("parameters")
    if not isinstance(parameters, dict):
        raise PermitRefused("invalid_proposal", "The stored document is about no single call.")
    return parameters


def check_r3_document(document: Any) -> None:
    """Raise PermitRefused `invalid_r3_document` for what is no R3 document by seed 003."""
    if not isinstance(document, dict):
        raise _no_document("an object")
    if not isinstance(document.get("vocabulary"), str) or not document["vocabulary"]:
        raise _no_document("a vocabulary")
    if not isinstance(document.get("operations"), list) or not document["operations"]:
        raise _no_document("at least one operation")
    display = document.get("display")
    if display is not None and (not isinstance(display, dict) or not display.get("summary")):
        raise _no_document("a summary in its display")
    if "version" in document:
        raise _no_document("no version: its hash is its identity")


def _no_document(required: str) -> PermitRefused:
    return PermitRefused("invalid_r3_document", f"An R3 document has {required}.")


def verify_operation(operation: Any, approved: Any) -> None:
    """Raise PermitRefused `proposal_operation_mismatch` unless both are the same operation."""
    if not _same(operation, approved):
        raise PermitRefused("proposal_operation_mismatch", "Another operation was approved.")


def verify_parameters(actual: Any, approved: Mapping[str, Any]) -> None:
    """Raise PermitRefused `proposal_parameter_mismatch` unless the call is the approved one.

    The order of members means nothing, the order of a list does. Types count: "100" is not 100 and
    true is not 1. No parameter may be missing or added. If a digest was approved, the text itself
    must be presented, and must fit the hash and the excerpt.
    """
    if not isinstance(actual, Mapping):
        raise _mismatch("The parameters of the call must be an object.")
    for name in approved.keys() - actual.keys():
        raise _mismatch(f"The approved parameter {_quoted(name)} is missing from the call.")
    for name in actual.keys() - approved.keys():
        raise _mismatch(f"The parameter {_quoted(name)} was not approved.")
    for name, value in approved.items():
        _verify_value(name, actual[name], value)


def _verify_value(name: str, actual: Any, approved: Any) -> None:
    """Compare one parameter; digests stand at any depth."""
    if is_digest_value(approved):
        _verify_bytes(name, actual, approved)
        return
    inner = _inner(approved)
    if inner is None:
        if not _same(actual, approved):
            raise _differs(name)
        return
    presented = _inner(actual)
    if presented is None or type(actual) is not type(approved) or presented.keys() != inner.keys():
        raise _differs(name)
    for key, value in inner.items():
        _verify_value(name, presented[key], value)


def _inner(value: Any) -> dict[Any, Any] | None:
    """Return what stands in a container by key or place, None for a scalar."""
    if isinstance(value, dict):
        return value
    return dict(enumerate(value)) if isinstance(value, list) else None


def _verify_bytes(name: str, actual: Any, approved: Mapping[str, Any]) -> None:
    if not isinstance(actual, str):
        raise _mismatch(f"The parameter {_quoted(name)} was approved by hash: present its text.")
    try:
        data = actual.encode()
    except UnicodeEncodeError:  # bytes that no hash of a text can be of, whatever was approved
        raise _mismatch(f"The text of {_quoted(name)} holds half of a character.") from None
    if not hmac.compare_digest(s256(data).encode(), approved["s256"].encode()):
        raise _mismatch(f"The text of {_quoted(name)} does not fit the approved hash.")
    if not _fits_excerpt(actual, approved.get("excerpt")):
        raise _mismatch(
            f"The text of {_quoted(name)} is not the approved excerpt; one that is the beginning "
            f"of a text ends with {_CUT}"
        )


def _fits_excerpt(text: str, excerpt: Any) -> bool:
    """Return True if the text is the excerpt, or begins with an excerpt that ends with `…`.

    People saw the excerpt when they approved.
    """
    if excerpt is None:
        return True
    if not isinstance(excerpt, str):
        return False
    return text == excerpt or (
        excerpt.endswith(_CUT) and text.startswith(excerpt.removesuffix(_CUT))
    )


def _same(one: Any, other: Any) -> bool:
    """Compare by canonical form, which tells types apart and takes 100.0 for 100."""
    try:
        return canonical_bytes(one) == canonical_bytes(other)
    except ValueError:
        return False


def _quoted(name: str) -> str:
    """Return a name that can be shown; the name in a call may hold halves of characters."""
    return f'"{mask_text(name)[:64].encode("utf-8", "replace").decode()}"'


def _differs(name: str) -> PermitRefused:
    return _mismatch(f"The parameter {_quoted(name)} differs from the approved one.")


def _mismatch(message: str) -> PermitRefused:
    return PermitRefused("proposal_parameter_mismatch", message)
