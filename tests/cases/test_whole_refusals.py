"""Cases A to F through the whole law: what is refused or rejected has no effect at all."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lifecycle.canonical import digest_of
from tests.builders import MAIL, NOW_MS, PROD, REFUND, a_document
from tests.stage import in_memory
from tests.world import World

ENVELOPE: dict[str, Any] = {
    "allowed_side_effects": ["deploy"],
    "forbidden_effects": [],
    "max_affected_records": 1,
    "reversible_required": False,
}
EVE = "eve@evil.test"


@pytest.fixture
async def small(tmp_path: Path) -> AsyncIterator[World]:
    """The whole law in memory, for tables of many rows."""
    async with in_memory(tmp_path) as world:
        yield world


def enveloped(**changes: Any) -> dict[str, Any]:
    return {"risk_envelope": ENVELOPE | changes}


def within(valid_until_ms: int) -> dict[str, Any]:
    bounds = {"valid_from_ms": NOW_MS, "valid_until_ms": valid_until_ms, "max_duration_ms": 1000}
    return {"time_window": bounds}


def mail(**parameters: Any) -> dict[str, Any]:
    return {"parameters": MAIL["parameters"] | parameters}


async def nothing_runs(world: World) -> None:
    await world.passes(minutes=20)
    assert all(not tool.calls for tool in world.toolbox.tools.values())


@pytest.mark.parametrize(
    ("base", "changes", "code", "path"),
    [
        (PROD, enveloped(reversible_required="NO"), "wrong_type",
         "risk_envelope.reversible_required"),
        (PROD, enveloped(reversible_required=1), "wrong_type",
         "risk_envelope.reversible_required"),
        (PROD, enveloped(max_affected_records="10"), "wrong_type",
         "risk_envelope.max_affected_records"),
        (PROD, {"actor": 12345}, "V-PROP-003", "actor"),
        (PROD, {"approval_class": None, "aproval_class": "dual"}, "unknown_field",
         "aproval_class"),
        (MAIL, {"note2": "x"}, "unknown_field", "note2"),
        (MAIL, {"ts_ms": NOW_MS // 1000}, "implausible_time", "ts_ms"),
        (MAIL, {"ts_ms": NOW_MS + 2 * 86_400_000}, "implausible_time", "ts_ms"),
        (MAIL, within((NOW_MS + 60_000) // 1000), "implausible_time",
         "time_window.valid_until_ms"),
        (MAIL, within(NOW_MS * 1000), "implausible_time", "time_window.valid_until_ms"),
        (MAIL, mail(subject="Hi\r\nBcc: eve@evil.test"), "control_character",
         "parameters.subject"),
        (MAIL, mail(to="pat@partner.example\nCc: eve@evil.test"), "control_character",
         "parameters.to"),
        (MAIL, mail(subject="Hi\rBcc: x"), "control_character", "parameters.subject"),
        (MAIL, mail(subject="Hi\u2028x"), "control_character", "parameters.subject"),
        (MAIL, mail(subject="Hi\x85x"), "control_character", "parameters.subject"),
        (PROD, {"tool": "Production-Deploy"}, "unknown_tool", "tool"),
        (PROD, {"tool": "production_deploy"}, "unknown_tool", "tool"),
        (PROD, {"tool": "production-deploy "}, "unknown_tool", "tool"),
        (PROD, {"tool": "prod\u200buction-deploy"}, "unknown_tool", "tool"),
        (PROD, {"tool": "PRODUCTION-DEPLOY"}, "unknown_tool", "tool"),
        (PROD, {"tier": "AUTO"}, "unknown_field", "tier"),
    ],
)  # fmt: skip
async def test_A07_A08_A12_D01_F02_F03_what_is_refused_leaves_one_row_of_the_trail(
    small: World, base: Mapping[str, Any], changes: Mapping[str, Any], code: str, path: str
) -> None:
    document = a_document(base, **{"proposal_id": "bad", **changes})
    answer = await small.workflow.submit(json.dumps(document).encode(), small.sender("leila"))
    await small.shows()

    assert (answer.state, answer.proposal_id, answer.outcome) == (None, None, "deny")
    assert (answer.errors[0].code, answer.errors[0].path) == (code, path)
    assert await small.store.read(lambda tx: tx.proposals.ids_after("", 10)) == []
    assert await small.store.read(lambda tx: tx.cards.of("bad")) == []
    (row,) = await small.audit("refused")
    assert (row["reason"], row["actor"]["id"]) == (code, "leila")
    assert (await small.approves("ana", "bad")).code == "unknown_proposal"
    await nothing_runs(small)


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"proposal_id": "a b"}, "invalid_identifier"),
        ({"actor": "nour"}, "actor_mismatch"),
        ({"ts_ms": 1}, "implausible_time"),
        ({"justification": "short"}, "insufficient_justification"),
    ],
)
async def test_a_refusal_is_told_of_the_bytes_as_they_were_sent_at_every_step(
    small: World, changes: Mapping[str, Any], code: str
) -> None:
    sent = json.dumps(a_document(MAIL, **changes), indent=2).encode()

    await small.workflow.submit(sent, small.sender("leila"))

    (row,) = await small.audit("refused")
    assert (row["reason"], row["details"]["bytes_digest"]) == (code, digest_of(sent))


async def test_A08_the_refusal_names_the_field_that_was_meant(small: World) -> None:
    answer = await small.submits(PROD, approval_class=None, aproval_class="dual")

    assert "Did you mean approval_class?" in str(answer.as_json())


def said(text: str) -> tuple[dict[str, Any], dict[str, Any], str, str]:
    return MAIL, mail(body=text), "prohibited_content", "prohibited_phrase"


def sent(code: str = "domain_not_allowed", **parameters: Any) -> Any:
    return MAIL, mail(**parameters), "recipients_allowed", code


def paid(code: str, **parameters: Any) -> Any:
    return REFUND, {"parameters": {"currency": "USD"} | parameters}, "amount_within_limit", code


REJECTED = {
    "C01 invisible": said("fi\u200bnal war\u00adn\u2060ing"),
    "C03 Cyrillic": said("fіnal wаrning"),
    "C04 full width": said("ＦＩＮＡＬ ＷＡＲＮＩＮＧ"),
    "C04 ligature": said("ﬁnal warning"),
    "C04 dotted capital": said("FİNAL WARNİNG"),
    "C05 tags": said("fi<b></b>nal war<!-- x -->ning"),
    "C05 entity": said("&#102;inal warning"),
    "C05 emphasis": said("fi**nal** war_ning_"),
    "C06 escaped": said("https://x.partner.example/final%20warning"),
    "C08 line break": said("final\n   warning"),
    "C08 no-break space": said("final\u00a0warning"),
    "C08 inside": said("xxxxfinal warning"),
    "C08 digits": said("f1nal w4rning"),
    "C09 subject": (*said("")[:1], mail(subject="final warning"), *said("")[2:]),
    "C09 file": (*said("")[:1], mail(files=[{"name": "final warning.pdf"}]), *said("")[2:]),
    "C09 nested": (*said("")[:1], mail(extra={"title": "final warning"}), *said("")[2:]),
    "D03 look-alike": sent(to="pat@evilpartner.example"),
    "D03 more behind": sent(to="pat@partner.example.evil.test"),
    "D03 subdomain": sent(to="pat@sub.partner.example"),
    "D10 cc": sent(cc=EVE),
    "D10 bcc": sent(bcc=EVE),
    "D10 reply_to": sent(reply_to=EVE),
    "D10 headers": sent(headers={"X-Forward-To": EVE}),
    "D10 nested": sent(options={"bcc": EVE}),
    "D10 a word of the head": sent(
        "not_plain_address", subject="=?utf-8?Q?Hi=0D=0ABcc:_eve@evil.test?="
    ),
    "A07 true": paid("ambiguous_amount", amount=True),
    "E01 comma": paid("ambiguous_amount", amount="1.000,50"),
    "E02 negative": paid("amount_not_positive", amount="-50000.00"),
    "E02 minus zero": paid("amount_not_positive", amount="-0.00"),
    "E02 list": paid("amount_missing", items=[20000.0, -15000.0]),
    "E04 a cent above": paid("action_limit", amount="10000.01"),
    "E04 one above": paid("action_limit", amount_minor=1_000_001),
    "E05 a sum": paid("action_limit", items=[{"amount": "9999.99"}, {"amount": "0.02"}]),
    "E07 exponent": paid("ambiguous_amount", amount="1e5"),
}  # fmt: skip


@pytest.mark.parametrize(("base", "changes", "rule", "code"), REJECTED.values(), ids=REJECTED)
async def test_what_sentinel_rejects_nobody_can_approve(
    small: World, base: Mapping[str, Any], changes: Mapping[str, Any], rule: str, code: str
) -> None:
    answer = await small.submits(base, proposal_id="p1", **changes)
    reply = await small.approves("ana", "p1")
    await nothing_runs(small)

    assert (answer.state, answer.reason) == ("rejected", rule)
    assert code in {fault.code for fault in answer.errors if fault.rule == rule}
    assert reply.code == "already_decided"
    proposal = await small.proposal("p1")
    assert proposal.decided_by is not None
    assert proposal.decided_by.kind == "sentinel"
    assert await small.trail("p1") == ["submitted", "reject", "ignored"]


async def test_C01_the_answer_and_the_proposal_show_the_phrase_cleaned(small: World) -> None:
    answer = await small.submits(MAIL, proposal_id="p1", **mail(body="fi\u200bnal war\u00adning"))

    assert "“final warning”" in str(answer.as_json()["errors"])
    assert "“final warning”" in str((await small.proposal("p1")).explanation)


@pytest.mark.parametrize(
    ("base", "changes"),
    [
        (REFUND, {"parameters": {"amount": "10000.00", "currency": "USD"}}),
        (REFUND, {"parameters": {"amount_minor": 1_000_000, "currency": "USD"}}),
        (MAIL, mail(body="The classic class in Scunthorpe: hello, please assess the passage.")),
    ],
    ids=["E04 the limit", "E04 the limit in cents", "C07"],
)
async def test_E04_C07_what_is_within_the_law_goes_on_to_people(
    small: World, base: Mapping[str, Any], changes: Mapping[str, Any]
) -> None:
    rules = dict(small.workflow.policy.rules)
    phrases = {"phrases": ["ass", "hell"]}
    rules["prohibited_content"] = replace(rules["prohibited_content"], settings=phrases)
    await small.adopts(rules=rules)

    assert (await small.submits(base, **changes)).state == "sentinel_approved"
    worse = await small.submits(MAIL, **mail(body="what the hell"))
    assert (worse.state, worse.reason) == ("rejected", "prohibited_content")


async def test_C06_what_is_escaped_twice_goes_to_people_who_give_a_reason(small: World) -> None:
    body = "https://x.partner.example/final%2520warning"
    answer = await small.submits(MAIL, proposal_id="p1", **mail(body=body))

    assert answer.state == "sentinel_approved"
    assert [(fault.code, fault.level) for fault in answer.errors] == [("leftover_escape", "soft")]
    assert (await small.approves("ana", "p1")).code == "reason_required"
    await nothing_runs(small)
    assert (await small.approves("ana", "p1", "I read the link")).done


@pytest.mark.parametrize(
    ("rule", "settings", "base"),
    [
        ("recipients_allowed", {"domains": []}, MAIL),
        ("deploy_target_allowed", {"targets": {}}, PROD),
    ],
)
async def test_F07_an_empty_list_lets_nothing_through(
    small: World, rule: str, settings: dict[str, Any], base: Mapping[str, Any]
) -> None:
    rules = dict(small.workflow.policy.rules)
    rules[rule] = replace(rules[rule], settings=settings)
    await small.adopts(rules=rules)

    answer = await small.submits(base)
    await nothing_runs(small)

    assert (answer.state, answer.reason) == ("rejected", rule)


async def test_F07_without_agents_every_submission_is_refused(small: World) -> None:
    await small.adopts(agents={})

    answer = await small.submits(MAIL)

    assert (answer.state, answer.reason) == (None, "unknown_agent")
    assert await small.store.read(lambda tx: tx.proposals.ids_after("", 10)) == []
