"""Case D10: which names of fields say recipient, and which do not."""

from __future__ import annotations

from typing import Any

import pytest

from tests.cases.test_d_recipients import EVE, PAT, mail
from tests.checking import found


@pytest.mark.parametrize(
    "name",
    [
        *("cc_list", "bccList", "to_address", "toAddresses", "to_email", "CC_EMAILS", "from_email"),
        *("to_email_address", "bccEmailList", "recipient_address_list"),
        *(
            "recipient_list",
            "reply_to_address",
            "sender-mail",
            "tо_emails",
            "to_addrs",
            "from_addr",
        ),
        *("toaddress", "TOADDRS", "ccemail", "cclist", "recipientlist", "replytoaddress"),
        *("to_e_mail", "bcc_e-mails", "ccEMail"),
        *("mailto", "sendto", "forwardto", "rcptto", "CCs", "bccs", "senders"),
    ],
)
def test_D10_a_list_or_an_address_by_its_name_is_a_recipient_where_an_at_stands(name: str) -> None:
    for value in (EVE, [PAT, EVE], {"a": EVE}, f"Pat <{EVE}>"):
        assert {rule for rule, _, _ in found(mail(**{name: value}))} == {"recipients_allowed"}
    for value in (PAT, [PAT], "12 Main Street", 7, None):
        assert found(mail(**{name: value})) == set()


@pytest.mark.parametrize(
    ("field", "path"),
    [
        ({"name": "Bcc", "value": EVE}, "value"),
        ({"Name": "X-Forward-To", "Value": [PAT, EVE]}, "Value[1]"),
        ({"key": "reply_to", "values": {"a": f"Eve <{EVE}>"}}, "values.a"),
        ({"header_name": "сc", "header_value": EVE}, "header_value"),
        ({"type": "bcc", "email": EVE}, "email"),
        ({"kind": "CC", "addresses": [PAT, EVE]}, "addresses[1]"),
        ({"label": "reply_to", "emailAddress": {"address": EVE}}, "emailAddress.address"),
    ],
)
def test_D10_a_value_beside_the_name_of_a_recipient_is_one(
    field: dict[str, Any], path: str
) -> None:
    places = {(rule, where) for rule, _, where in found(mail(fields=[field]))}

    assert places == {("recipients_allowed", f"parameters.fields[0].{path}")}


@pytest.mark.parametrize(
    "field",
    [
        {"name": "Bcc", "value": PAT},
        {"name": "Ship to", "value": "12 Main Street"},
        {"name": "Subject", "value": f"From {EVE}"},
        {"name": "to", "note": f"not {EVE}"},
        {"name": ["cc"], "value": EVE},
        {"type": "customer", "email": EVE},
        {"type": "to", "email": PAT},
        {"value": EVE},
    ],
)
def test_D10_another_value_beside_a_name_is_no_recipient(field: dict[str, Any]) -> None:
    assert found(mail(fields=[field])) == set()


@pytest.mark.parametrize(
    "name", ["mailing_list", "email", "e_mail", "price_list", "address", "list", "photoaddress"]
)
def test_D10_an_address_that_says_no_recipient_is_none(name: str) -> None:
    assert found(mail(**{name: EVE})) == set()
