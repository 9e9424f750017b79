"""A permit allows exactly the call it was signed for (design section 7)."""

from __future__ import annotations

import hmac
from base64 import urlsafe_b64decode, urlsafe_b64encode
from dataclasses import replace

import pytest

from lifecycle.errors import PermitRefused
from lifecycle.permit import KeyRing, Permit, check, issue, read, unverified

RING = KeyRing({"k1": b"1" * 32, "k2": b"2" * 32}, "k2")
NOW = 1_772_452_800_000
PERMIT = Permit(
    permit_id="n-1",
    proposal_id="p1",
    digest="sha256:aa",
    r3_uri="http://127.0.0.1:8080/r3/x",
    r3_s256="x",
    tool="staging-deploy",
    actor="leila",
    verb="execute",
    attempt=1,
    policy_digest="pol1_a",
    not_before_ms=NOW,
    expires_at_ms=NOW + 3_600_000,
    nonce="n-2",
)
CALL = {
    "digests": ("sha256:aa", "x"),
    "tool": "staging-deploy",
    "actor": "leila",
    "verb": "execute",
    "attempt": 1,
    "policy_digest": "pol1_a",
    "now_ms": NOW,
}


def code_of(action, *args, **kwargs) -> str:
    with pytest.raises(PermitRefused) as refused:
        action(*args, **kwargs)
    return refused.value.code


def test_a_permit_comes_back_as_it_was_issued():
    assert read(issue(PERMIT, RING), RING) == PERMIT


def test_a_token_names_the_key_that_signed_it():
    assert issue(PERMIT, RING).split(".")[1] == "k2"


def test_an_older_key_of_the_ring_still_verifies():
    token = issue(PERMIT, KeyRing({"k1": b"1" * 32}, "k1"))

    assert read(token, RING) == PERMIT


def test_a_key_that_was_dropped_no_longer_verifies():
    token = issue(PERMIT, RING)

    assert code_of(read, token, KeyRing({"k1": b"1" * 32}, "k1")) == "permit_signature_invalid"


def test_every_changed_character_breaks_the_signature():
    token = issue(PERMIT, RING)

    for place in range(len(token)):
        other = "A" if token[place] != "A" else "B"
        changed = token[:place] + other + token[place + 1 :]
        if (
            urlsafe_b64decode(changed.rpartition(".")[2] + "==")
            == urlsafe_b64decode(token.rpartition(".")[2] + "==")
            and changed.rpartition(".")[0] == token.rpartition(".")[0]
        ):
            continue  # the last character of the signature carries two idle bits
        assert code_of(read, changed, RING) == "permit_signature_invalid"


def test_a_signature_cannot_be_moved_to_another_key_id():
    body, _, signature = issue(PERMIT, RING).split(".")

    assert code_of(read, f"{body}.k1.{signature}", RING) == "permit_signature_invalid"


@pytest.mark.parametrize(
    "text", ["", ".", "..", "a.b", "a.b.c.d", "é.k2.x", "x" * 9_000, "\x00.k2."]
)
def test_what_is_no_token_is_refused_by_one_code(text):
    assert code_of(read, text, RING) == "permit_signature_invalid"


def signed_by(body: str, key_id: str, key: bytes) -> str:
    """Sign as somebody would who knows how, and this key."""
    signed = f"{body}.{key_id}"
    return (
        f"{signed}.{urlsafe_b64encode(hmac.digest(key, signed.encode(), 'sha256')).decode()[:43]}"
    )


def test_a_body_that_is_no_permit_is_refused_although_signed():
    body = urlsafe_b64encode(b'{"attempt":"1"}').decode().rstrip("=")
    token = signed_by(body, "k2", b"2" * 32)

    assert code_of(read, token, RING) == "permit_signature_invalid"
    assert code_of(unverified, token) == "permit_signature_invalid"


@pytest.mark.parametrize("key", [bytes(32), b"", b"1" * 32, b"2" * 32])
def test_under_an_id_that_no_key_has_nothing_is_signed_with_whatever_key(key):
    body = issue(PERMIT, RING).partition(".")[0]
    assert read(signed_by(body, "k2", b"2" * 32), RING) == PERMIT

    assert code_of(read, signed_by(body, "k9", key), RING) == "permit_signature_invalid"


def test_a_permit_lives_an_hour_at_most():
    with pytest.raises(ValueError, match="one hour"):
        replace(PERMIT, expires_at_ms=NOW + 3_600_001)


def test_a_ring_without_its_current_key_cannot_be_made():
    with pytest.raises(ValueError, match="current"):
        KeyRing({"k1": b"1" * 32}, "k2")


@pytest.mark.parametrize("key_id", ["", "a.b", "ü", "k" * 65])
def test_a_key_whose_id_no_token_could_name_cannot_sign(key_id):
    with pytest.raises(ValueError, match="an id of"):
        KeyRing({key_id: b"1" * 32}, key_id)


def test_a_short_key_cannot_sign():
    with pytest.raises(ValueError, match="32 bytes"):
        KeyRing({"k1": b"short"}, "k1")


def test_the_very_call_is_allowed():
    check(PERMIT, **CALL)


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"tool": "production-deploy"}, "permit_mismatch"),
        ({"actor": "nour"}, "permit_mismatch"),
        ({"verb": "commit"}, "permit_mismatch"),
        ({"attempt": 2}, "permit_mismatch"),
        ({"policy_digest": "pol1_b"}, "permit_mismatch"),
        ({"digests": ("sha256:bb", "x")}, "digest_mismatch"),
        ({"digests": ("sha256:aa", "y")}, "digest_mismatch"),
        ({"now_ms": NOW - 1}, "permit_not_yet_valid"),
        ({"now_ms": NOW + 3_600_000}, "permit_expired"),
    ],
)
def test_any_other_call_is_refused(change, code):
    assert code_of(check, PERMIT, **(CALL | change)) == code


def test_a_permit_is_valid_until_the_moment_it_expires():
    check(PERMIT, **(CALL | {"now_ms": NOW + 3_599_999}))


def test_expiry_never_stands_in_the_way_of_roll_back():
    permit = replace(PERMIT, verb="roll_back")

    check(permit, **(CALL | {"verb": "roll_back", "now_ms": NOW + 90_000_000}))


def test_keys_do_not_show_in_a_ring():
    assert "222" not in repr(RING)
