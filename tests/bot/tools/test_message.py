"""A mail says to whoever reads it what people approved, character by character."""

from __future__ import annotations

from email import message_from_bytes, policy
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bot.tools.message import composed, enveloped
from lifecycle.ports import ToolFailed
from tests.bot.tools.mailing import MAIL, NOW_MS
from tests.contracts.tool_contract import call

HEADERS = {"From", "To", "Cc", "Bcc", "Reply-To", "Subject", "Date", "Message-ID"}
EVE = "=?utf-8?Q?Hi=0D=0ABcc:_eve@evil.test?="


class Mail:
    """The parameters of a call."""

    def __init__(self, **changes: Any) -> None:
        self.parameters = MAIL | changes


def the_mail(**changes: Any) -> bytes:
    return composed(call(Mail(**changes), "execute"), "agents@shop.example", NOW_MS)


SUBJECTS = st.one_of(
    st.text(max_size=200),
    st.text(alphabet="aé€😀 \t=?_.", max_size=200),
    st.lists(st.sampled_from(["=?utf-8?q?", "=0D=0A", "?=", "Bcc: ", "x@evil.test", " ", "ü"])).map(
        "".join
    ),
)


@given(SUBJECTS)
@example(EVE)
@example("=?utf-8?B?ZmluYWwgd2FybmluZw==?=")
@example("é " * 60 + "  two blanks")
@example("word " * 40)
@example("")
def test_a_subject_is_read_as_it_was_approved_or_no_mail_is_made(subject: str) -> None:
    try:
        data = the_mail(subject=subject)
    except ToolFailed:
        assert not subject.isprintable(), "only what is no line of text may be refused"
        return
    envelope = enveloped(data)
    for sent in (data, envelope.data):
        read = message_from_bytes(sent, policy=policy.default)
        assert str(read["Subject"]) == subject
        assert {name for name in read if name in HEADERS} == HEADERS - (
            {"Bcc"} if sent is envelope.data else set()
        )
    assert envelope.recipients == ("pat@partner.example", *MAIL["cc"], *MAIL["bcc"])


def test_bytes_that_would_be_read_as_another_mail_are_no_mail(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("bot.tools.message._subject", str)  # as the library would write it

    with pytest.raises(ToolFailed):
        the_mail(subject=EVE)


@pytest.mark.parametrize(
    "address",
    [
        "=?utf-8?q?eve=40evil.test=2C?=@partner.example",
        "=?utf-8?q?a?=@partner.example",
        "=?utf-8?b?ZXZlQGV2aWwudGVzdA==?=@partner.example",
        "pat@=?utf-8?q?evil.test?=",
    ],
)
@pytest.mark.parametrize("field", ["to", "cc", "bcc", "reply_to"])
def test_an_address_is_read_as_it_was_approved_or_no_mail_is_made(field: str, address: str) -> None:
    try:
        envelope = enveloped(the_mail(**{field: address}))
    except ToolFailed:
        return
    read = message_from_bytes(envelope.data, policy=policy.default)
    named = [*envelope.recipients, *(each.addr_spec for each in read["Reply-To"].addresses)]
    assert sorted(named) == sorted(_addresses(MAIL | {field: address}))


def _addresses(parameters: dict[str, Any]) -> list[str]:
    found: list[str] = []
    for field in ("to", "cc", "bcc", "reply_to"):
        value = parameters[field]
        found += value if isinstance(value, list) else [value]
    return found
