"""Cases D03, D10 and F07: a recipient, in whatever field, is a plain and allowed address."""

from __future__ import annotations

from dataclasses import replace
from email import policy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lifecycle.policy import ActionType, Level, RuleSettings, ToolKind
from sentinel_rules import RuleLoadError, load_rules
from tests.builders import MAIL, a_document, the_rules, the_tools
from tests.checking import found, sentinel_with, verdict_on

PAT = "pat@partner.example"


def mail(**parameters: Any) -> dict[str, Any]:
    return a_document(MAIL, parameters={"to": PAT, "subject": "x", "body": "y"} | parameters)


@pytest.mark.parametrize(
    ("address", "code"),
    [
        ("pat@evilpartner.example", "domain_not_allowed"),
        ("pat@partner.example.evil.test", "domain_not_allowed"),
        ("pat@sub.partner.example", "domain_not_allowed"),
        ("pat@partner.exampl", "domain_not_allowed"),
        ("pat@раrtner.example", "domain_not_allowed"),
        ("pat@xn--rtner-6nfa.example", "domain_not_allowed"),
        ("pat@partner.example.", "not_plain_address"),
        (" pat@partner.example", "not_plain_address"),
        ("pat@partner.example\n", "not_plain_address"),
        ("pat@partner.example, eve@evil.test", "not_plain_address"),
        ("pat@partner.example;eve@evil.test", "not_plain_address"),
        ("Pat <pat@partner.example>", "not_plain_address"),
        ("<pat@partner.example>", "not_plain_address"),
        ('"eve@evil.test"@partner.example', "not_plain_address"),
        ("eve@evil.test@partner.example", "not_plain_address"),
        ("eve%evil.test@partner.example", "not_plain_address"),
        ("evil.test!eve@partner.example", "not_plain_address"),
        ("@evil.test:pat@partner.example", "not_plain_address"),
        ("pat(eve@evil.test)@partner.example", "not_plain_address"),
        ("mailto:pat@partner.example", "not_plain_address"),
        ("pat@[127.0.0.1]", "not_plain_address"),
        ("pát@partner.example", "not_plain_address"),
        ("раt@partner.example", "not_plain_address"),
        ("pat@partner..example", "not_plain_address"),
        (".pat@partner.example", "not_plain_address"),
        ("pat@", "not_plain_address"),
        ("@partner.example", "not_plain_address"),
        ("partner.example", "not_plain_address"),
        ("", "not_plain_address"),
        (7, "not_plain_address"),
        (True, "not_plain_address"),
        ("a" * 65 + "@partner.example", "not_plain_address"),
    ],
)
def test_D03_only_a_plain_address_of_an_allowed_domain_passes(address: Any, code: str) -> None:
    assert found(mail(to=address)) == {("recipients_allowed", code, "parameters.to")}


@pytest.mark.parametrize("address", [PAT, "PAT@Partner.Example", "a.b+c_d-e'f@shop.example"])
def test_D03_a_plain_address_passes(address: str) -> None:
    assert found(mail(to=[address])) == set()


def test_D03_a_dot_in_front_admits_all_subdomains() -> None:
    rule = sentinel_with("recipients_allowed", domains=[".partner.example"])

    assert found(mail(to="pat@sub.partner.example"), rule) == set()
    assert found(mail(to="pat@a.b.partner.example"), rule) == set()
    assert found(mail(to="pat@evilpartner.example"), rule) != set()
    assert found(mail(to="pat@partner.example"), rule) != set()


def test_D03_an_allowed_domain_of_another_alphabet_is_compared_in_ascii() -> None:
    rule = sentinel_with("recipients_allowed", domains=["bücher.example"])

    assert found(mail(to="pat@bücher.example"), rule) == set()
    assert found(mail(to="pat@xn--bcher-kva.example"), rule) == set()
    assert found(mail(to="pat@bucher.example"), rule) != set()


@pytest.mark.parametrize(
    "domain", ["*.partner.example", "@partner.example", "partner.example.", ""]
)
def test_a_domain_that_is_none_stops_the_start(domain: str) -> None:
    settings = RuleSettings(Level.HARD, {"domains": [domain]})

    with pytest.raises(RuleLoadError, match="is no domain"):
        load_rules(the_rules() | {"recipients_allowed": settings})


EVE = "eve@evil.test"


@pytest.mark.parametrize(
    ("parameters", "path"),
    [
        ({"cc": EVE}, "parameters.cc"),
        ({"bcc": [PAT, EVE]}, "parameters.bcc[1]"),
        ({"reply_to": EVE}, "parameters.reply_to"),
        ({"replyTo": EVE}, "parameters.replyTo"),
        ({"Reply-To": EVE}, "parameters.Reply-To"),
        ({"FROM": EVE}, "parameters.FROM"),
        ({"envelope_sender": EVE}, "parameters.envelope_sender"),
        ({"recipients": {"first": {"address": EVE}}}, "parameters.recipients.first.address"),
        ({"headers": {"X-Forward-To": EVE}}, "parameters.headers.X-Forward-To"),
        ({"headers": {"X-Anything": [EVE]}}, "parameters.headers.X-Anything[0]"),
        ({"mail_headers": {"List-Post": EVE}}, "parameters.mail_headers.List-Post"),
        ({"options": {"bcc": EVE}}, "parameters.options.bcc"),
        ({"options": [[{"sendTo": EVE}]]}, "parameters.options[0][0].sendTo"),
        ({"cc": {EVE: "Eve"}}, 'parameters.cc["eve@evil.test"]'),
        ({"tо": EVE}, 'parameters["t\\u043e"]'),
        ({"RECІPІENT": EVE}, 'parameters["REC\\u0406P\\u0406ENT"]'),
        ({"recӏpient_ӏist": EVE}, 'parameters["rec\\u04cfpient_\\u04cfist"]'),
        ({"b\u200bcc": EVE}, 'parameters["b\\u200bcc"]'),
        ({"\u03f2\u03f2": EVE}, 'parameters["\\u03f2\\u03f2"]'),
        ({"cc2": EVE}, "parameters.cc2"),
        ({"bcC": EVE}, "parameters.bcC"),
        ({"tO": EVE}, "parameters.tO"),
        ({"X-fROM": EVE}, "parameters.X-fROM"),
        ({"hEADERS": {"X-Any": EVE}}, "parameters.hEADERS.X-Any"),
        ({"date_to": EVE}, "parameters.date_to"),
    ],
)
def test_D10_every_recipient_like_field_is_checked(parameters: dict[str, Any], path: str) -> None:
    assert ("recipients_allowed", "domain_not_allowed", path) in found(mail(**parameters))


@pytest.mark.parametrize(
    "parameters",
    [
        {"topic": EVE},
        {"cc": None},
        {"bcc": []},
        {"format": "html"},
        {"date_from": "2026-01-01", "date_to": "2026-02-01"},
        {"period": {"from": "1.1.2026", "to": "31.1.2026"}},
    ],
)
def test_D10_other_fields_and_nobody_are_no_recipients(parameters: dict[str, Any]) -> None:
    assert found(mail(**parameters)) == set()


def test_D10_what_is_no_address_is_told_how_to_be_no_recipient() -> None:
    (fault,) = verdict_on(mail(valid_to="soon", goes_to="soon")).faults()

    assert fault.path == "parameters.goes_to"
    assert "rename it if it is none" in str(fault.suggestion)


@pytest.mark.parametrize(
    "written",
    [
        "Eve <eve@evil.example>",
        f"{EVE}, {EVE}",
        "eve＠evil.example",
        "mailto:eve%40evil.example",
        "eve&#064;evil.example",
    ],
)
def test_D10_who_writes_an_address_is_not_told_to_hide_it_under_another_name(written: str) -> None:
    (fault,) = verdict_on(mail(cc=written)).faults()

    assert (fault.code, fault.path) == ("not_plain_address", "parameters.cc")
    assert "rename" not in str(fault.suggestion)


def test_D10_a_tool_that_mails_is_asked_whatever_its_action_is_called() -> None:
    mails = replace(the_tools()["send-email"], action_type=ActionType.WRITE)
    document = mail(cc=EVE) | {"action_type": "write"}

    assert found(document, tool=mails) == {
        ("recipients_allowed", "domain_not_allowed", "parameters.cc")
    }
    posts = replace(mails, kind=ToolKind.WEBHOOK)
    assert found(document, tool=posts) == set()


PLAIN = st.text("abcdefghijklmnopqrstuvwxyz0123456789.-", max_size=24)


@given(local=st.text(max_size=12), domain=PLAIN | st.text(max_size=16))
def test_D10_no_address_outside_the_allowed_domains_passes(local: str, domain: str) -> None:
    address = f"{local}@{domain}"
    allowed = address.lower().endswith(("@partner.example", "@shop.example"))

    rules = {rule for rule, _, _ in found(mail(cc=address))}

    assert allowed or "recipients_allowed" in rules


@pytest.mark.parametrize(
    "subject",
    [
        "=?utf-8?Q?Hi=0D=0ABcc:_eve@evil.test?=",
        "=?utf-8?B?SGkNCkJjYzogZXZlQGV2aWwudGVzdA?=",
        "Hi =?x*en?q?=0ABcc: eve@evil.test",
        "Hi=?UTF-16?b?SA?=",
        "=??Q??=",
    ],
)
def test_D01_a_subject_holds_no_word_that_a_mail_program_decodes(subject: str) -> None:
    (fault,) = verdict_on(mail(subject=subject)).faults()

    assert (fault.code, fault.path) == ("not_plain_address", "parameters.subject")
    assert "write the text itself" in str(fault.suggestion)
    assert found(mail(body="You wrote: " + subject)) == set()


@pytest.mark.parametrize(
    ("changes", "path"),
    [
        ({"parameters": {"note": "=?utf-8?Q?a?="}}, "parameters.note"),
        ({"target": {"resource_id": "=?utf-8?Q?a?="}}, "target.resource_id"),
        ({"parameters": {"note": "first\n=?utf-8?Q?a?="}}, None),  # no line of a mail's head
        ({"parameters": {"body": "=?utf-8?Q?a?="}}, None),
        ({"justification": "Pat asked for =?utf-8?Q?a?="}, None),  # no part of the mail
    ],
)
def test_D10_an_encoded_word_is_found_wherever_a_head_may_be_made_of_it(
    changes: dict[str, Any], path: str | None
) -> None:
    whole = mail()
    for key, value in changes.items():
        whole[key] = whole[key] | value if isinstance(value, dict) else value
    expected = {("recipients_allowed", "not_plain_address", path)} if path else set()
    assert found(whole) == expected


@given(st.lists(st.sampled_from(["=?", "?=", "utf-8", "?", "Q", "b", "=0A", "Bcc:", " "])))
def test_D01_what_passes_begins_no_header_of_its_own(pieces: list[str]) -> None:
    subject = "".join(pieces)
    shown = str(policy.SMTP.header_factory("Subject", subject))

    assert found(mail(subject=subject)) or ("\n" not in shown and "\r" not in shown)


def test_F07_no_domain_means_nobody() -> None:
    rule = sentinel_with("recipients_allowed", domains=[])

    assert found(MAIL, rule) == {("recipients_allowed", "domain_not_allowed", "parameters.to")}
