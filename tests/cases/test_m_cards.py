"""Cases M: what a card says, and that nothing on it can lie."""

from __future__ import annotations

import json

import pytest

from bot.chat.card import card_of
from bot.chat.card_facts import Beside
from bot.chat.content import CardContent, Field, Voice
from bot.chat.fitting import Limits, fit
from bot.chat.replies import CommandReply
from lifecycle.canonical import digest_of
from lifecycle.proposal import CLOCK, SENTINEL, Execution, Outcome, Proposal, Verb
from lifecycle.review import Decision, Review
from lifecycle.state import State
from lifecycle.tier import Puller
from tests.builders import (
    ANA,
    BEN,
    MAIL,
    NOUR,
    NOW_MS,
    PROD,
    a_document,
    a_policy,
    a_proposal,
)
from tests.terminal import a_terminal


def utf16(text: str) -> int:
    return len(text.encode("utf-16-le")) // 2


DISCORD = Limits(value=1024, label=256, fields=25, total=6000, measure=utf16)
MINUTE_MS = 60_000


def a_card(proposal: Proposal, *reviews: Review, **changes: object) -> CardContent:
    policy = a_policy(**changes)
    return card_of(proposal, Beside(policy, NOW_MS, reviews))


def mail_with(**parameters: object) -> Proposal:
    given = MAIL["parameters"] | parameters
    return a_proposal(a_document(MAIL, parameters=given), state=State.SENTINEL_APPROVED)


def written(content: CardContent, label: str) -> Field:
    return next(each for each in content.written if each.label == label)


def fact(content: CardContent, label: str) -> str:
    return next(each.text for each in content.facts if each.label == label)


CROWDED = {
    "subject": "s" * 300,
    "body": "b" * 5000,
    "to": [f"p{i}@partner.example" for i in range(30)],
} | {f"extra{i}": f"value {i}" * 40 for i in range(40)}
EMOJI = {"body": "🙂" * 1020, "subject": "❤️" * 600}


@pytest.mark.parametrize("parameters", [CROWDED, EMOJI, {"body": "x" * 1024}, {"b" * 900: "x"}])
def test_M01_a_card_fits_the_platform_whatever_an_agent_sends(parameters: dict) -> None:
    fitted = fit(a_card(mail_with(**parameters)), DISCORD)

    fields = [*fitted.content.facts, *fitted.content.written]
    assert len(fields) <= 25
    assert all(utf16(each.text) <= 1024 and utf16(each.label) <= 256 for each in fields)
    assert sum(utf16(each.text) + utf16(each.label) for each in fields) <= 6000


def test_M01_what_does_not_fit_stands_whole_in_the_attachment() -> None:
    fitted = fit(a_card(mail_with(**CROWDED)), DISCORD)

    assert fitted.attachment is not None
    assert fitted.attachment.name == "p1-v1.txt"
    for text in ("s" * 300, "b" * 5000, "p29@partner.example", "value 39" * 40):
        assert text in fitted.attachment.text


def test_M01_a_card_that_fits_needs_no_attachment() -> None:
    content = a_card(mail_with())

    assert fit(content, DISCORD).content == content
    assert fit(content, DISCORD).attachment is None


def test_M02_a_cut_value_says_how_much_of_it_is_shown() -> None:
    command = "echo fine; " * 97 + "x" * 33
    assert len(command) == 1100
    prod = a_proposal(a_document(PROD, parameters={"command": command}))

    fitted = fit(a_card(prod), DISCORD)

    shown = written(fitted.content, "command")
    assert "shown 900 of 1 100, full text attached" in shown.text
    assert shown.text.startswith(command[:900] + "\n")
    assert digest_of(command.encode())[:23] in shown.text
    assert fitted.attachment is not None
    assert command in fitted.attachment.text


def test_M02_a_link_behind_the_excerpt_is_in_the_attachment() -> None:
    body = "Dear Pat, " * 150 + "https://partner.example/pay"
    fitted = fit(a_card(mail_with(body=body)), DISCORD)

    assert "https" not in written(fitted.content, "body").text
    assert fitted.attachment is not None
    assert "https://partner.example/pay" in fitted.attachment.text


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ("report\u202efdp.exe", "report\\u{202E}fdp.exe"),
        ("staging\u2066.shop.example", "staging\\u{2066}.shop.example"),
        ("pat\u200b@partner.example", "pat\\u{200B}@partner.example"),
        ("www.sh\u043ep.example", "www.xn--shp-ted.example"),
        ("p\u0430ypal", "p\\u{430}ypal"),
    ],
)
def test_M03_what_is_invisible_or_foreign_is_shown_with_a_warning(raw: str, shown: str) -> None:
    proposal = mail_with(attachment=raw)
    content = a_card(proposal)

    field = written(content, "attachment (not sent)")
    assert field.text == shown
    assert field.digest == digest_of(raw.encode())
    assert any("attachment" in warning for warning in content.warnings)
    assert json.loads(proposal.document)["parameters"]["attachment"] == raw


def test_M03_a_target_with_direction_marks_is_shown_too() -> None:
    target = PROD["target"] | {"domain": "staging\u2066.shop.example"}
    content = a_card(a_proposal(a_document(PROD, target=target)))

    assert "staging\\u{2066}.shop.example" in written(content, "Target").text
    assert any(warning.startswith("⚠️ Target") for warning in content.warnings)


def test_M04_markup_stays_the_literal_text_of_one_line_of_the_agents_field() -> None:
    raw = "```\n[✅ Approve here](https://evil.test)\n# APPROVED\n||spoiler||\n> quote"
    content = a_card(mail_with(note=raw))

    field = written(content, "note (not sent)")
    assert "\n" not in field.text
    assert field.text.count("⏎") == 4
    assert field.voice is Voice.AGENT
    assert field.digest == digest_of(raw.encode())


def test_M04_an_agent_cannot_write_a_field_of_the_bot() -> None:
    forged = {"Sentinel": "all 9 rules passed", "Tier\nBLOCK": "AUTO", "React: ✅ approve": "yes"}
    content = a_card(mail_with(**forged))

    assert {each.voice for each in content.facts} == {Voice.BOT}
    assert not any("\n" in each.label for each in content.written)
    assert fact(content, "Sentinel") == "not checked yet"
    assert "React: ✅ approve (not sent)" in {each.label for each in content.written}


SECRETS = {
    "headers": {"Authorization": "Bearer abc.def"},
    "dsn": "postgres://u:pw@h/d",
    "api_key": "k-1234567890",
    "note": "api key rotation plan",
}
LEAKS = ("abc.def", "pw@", "k-1234567890")


def test_M08_secrets_are_masked_on_the_card_and_have_no_digest_to_guess_from() -> None:
    content = a_card(a_proposal(a_document(PROD, parameters=SECRETS)))

    texts = " ".join(each.text + each.full for each in content.written)
    assert not any(leak in texts for leak in LEAKS)
    assert "‹secret, 12 characters›" in written(content, "api_key").text
    assert written(content, "note").text == "api key rotation plan"
    assert written(content, "api_key").digest == ""
    assert written(content, "note").digest != ""


@pytest.mark.parametrize("tool", ["production-deploy", "financial-transfer"])
async def test_M08_secrets_are_masked_in_every_answer(tool: str) -> None:
    terminal = a_terminal()
    action = {"production-deploy": "execute", "financial-transfer": "transact"}[tool]
    await terminal.proposes(PROD, tool=tool, action_type=action, parameters=SECRETS)
    for line in ("pending", "show p1", "explain p1", "audit p1", "status"):
        await terminal.types(line)

    printed = "\n".join(terminal.printed)
    assert not any(leak in printed for leak in LEAKS)


async def test_M08_secrets_in_invalid_json_are_not_quoted_back() -> None:
    terminal = a_terminal()
    await terminal.types('leila: propose {"api_key": "k-1234567890", "dsn": "postgres://u:pw@h/d"')
    await terminal.types('leila: propose {"parameters": {"api_key": "k-1234567890"}}')

    printed = "\n".join(terminal.printed)
    assert not any(leak in printed for leak in LEAKS)


def a_review(person: str, decision: Decision, reason: str = "") -> Review:
    return Review("p1", person, decision, reason, NOW_MS + MINUTE_MS, "discord")


def ended(state: State, reason: str, by: object, explanation: str, **changes: object) -> Proposal:
    return a_proposal(
        state=state,
        reason=reason,
        decided_by=by,
        decided_at_ms=NOW_MS + 2 * MINUTE_MS,
        explanation=explanation,
        **changes,
    )


AT = "2026-03-02 12:02:00 UTC"


@pytest.mark.parametrize(
    ("proposal", "reviews", "said"),
    [
        (
            a_proposal(state=State.SENTINEL_APPROVED, quorum=2),
            [a_review("ana", Decision.APPROVE, "checked")],
            ['approved by person ana, 2026-03-02 12:01:00 UTC (discord): "checked"'],
        ),
        (
            ended(State.REJECTED, "rejected_by_person", BEN, "too early"),
            [a_review("ben", Decision.REJECT, "too early")],
            [f"rejected (rejected_by_person) by person ben, {AT}: too early"],
        ),
        (
            a_proposal(
                state=State.SENTINEL_APPROVED, opener=NOUR, opener_puller=Puller.ORCHESTRATOR
            ),
            [],
            ["opened by agent nour (auto-approval)"],
        ),
        (
            ended(State.REJECTED, "recipients_allowed", SENTINEL, "evil.test is not allowed"),
            [],
            [f"rejected (recipients_allowed) by sentinel sentinel, {AT}: evil.test"],
        ),
        (
            ended(State.REJECTED, "expired", CLOCK, "Nobody decided."),
            [],
            [f"rejected (expired) by clock clock, {AT}: Nobody decided."],
        ),
        (
            ended(State.ROLLED_BACK, "rolled_back_by_person", ANA, "wrong amount"),
            [a_review("ana", Decision.ROLL_BACK, "wrong amount")],
            [f"rolled_back (rolled_back_by_person) by person ana, {AT}: wrong amount"],
        ),
    ],
    ids=["approve", "reject", "auto-approve", "sentinel", "expiry", "rollback"],
)
def test_M10_a_card_names_who_decided_when_and_why(
    proposal: Proposal, reviews: list[Review], said: list[str]
) -> None:
    decisions = fact(a_card(proposal, *reviews), "Decisions")

    for words in said:
        assert words in decisions


def test_M10_the_orchestrator_is_still_named_once_the_window_has_closed() -> None:
    done = Execution(Verb.COMMIT, 1, Outcome.DONE, began_at_ms=NOW_MS, early=True)
    proposal = ended(
        State.COMPLETED, "window_closed_unopposed", CLOCK, "", execution=done, window_s=900
    )
    content = a_card(proposal, orchestrator="nour")

    assert "opened by agent nour (auto-approval)" in fact(content, "Decisions")


async def test_M10_show_names_the_same_as_the_card() -> None:
    terminal = a_terminal()
    await terminal.proposes(PROD, proposal_id="p1")
    await terminal.types("ben: reject p1 not on a Monday")

    shown = "\n".join(await terminal.types("show p1"))
    assert "rejected (rejected_by_person) by person ben, 2026-03-02 12:00:00 UTC" in shown
    assert "not on a Monday" in shown


def test_the_card_of_the_seed_is_the_model() -> None:
    content = a_card(
        a_proposal(
            a_document(MAIL, evidence="Client asked for 30 days in thread #847"),
            state=State.SENTINEL_APPROVED,
            window_s=900,
        )
    )

    assert content.title == "🔔 PROPOSAL from agent leila (PROPOSE tier)"
    assert fact(content, "Action").startswith("send-email")
    assert written(content, "to").text == "pat@partner.example"
    assert written(content, "subject").text == "Invoice 2847"
    assert written(content, "Evidence").text == "Client asked for 30 days in thread #847"
    assert fact(content, "Window") == "⏱️ 15-min rollback window after approval"
    assert content.react == "React: ✅ approve | ❌ reject"
    assert content.call_group == "approvers"
    assert content.commands == ("approve p1 [reason]", "reject p1 <reason>")


def test_an_empty_value_is_shown_as_empty_and_no_value_can_pretend_to_be() -> None:
    content = a_card(mail_with(subject="", body="(empty)"))

    assert written(content, "subject").text == "(empty)"
    assert written(content, "body").text == '"(empty)"'


def test_a_final_card_has_no_seeds_and_no_commands() -> None:
    content = a_card(ended(State.REJECTED, "expired", CLOCK, "Nobody decided."))

    assert content.final
    assert not content.seeded
    assert content.commands == ()
    assert content.call_group is None


def test_what_is_past_its_deadline_is_shown_as_expired_before_any_sweep() -> None:
    waiting = a_proposal(state=State.SENTINEL_APPROVED, deadline_ms=NOW_MS)
    content = a_card(waiting)

    assert content.final
    assert fact(content, "State") == "rejected (expired)"
    assert not content.seeded


def test_a_constraint_that_nobody_enforces_is_named() -> None:
    target = MAIL["target"] | {"constraints": {"region": "eu", "max_rows": 5}}
    content = a_card(a_proposal(a_document(MAIL, target=target)))

    assert fact(content, "Nobody enforces") == "the proposer's constraints region"


def test_what_a_tool_adds_by_config_stands_on_the_card() -> None:
    beside = Beside(a_policy(), NOW_MS, (), {"from": "agents@shop.example"})

    assert fact(card_of(a_proposal(), beside), "The tool adds") == "from: agents@shop.example"


def test_a_reply_reads_the_same_without_tables() -> None:
    assert CommandReply.words("one", "two").text == "one\ntwo"
