"""Case M10 and the model of a card: what the bot says on it, who decided, and when it is final."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bot.chat.cards.beside import Beside
from bot.chat.cards.card import card_of
from bot.chat.commands.replies import CommandReply
from lifecycle.proposal import CLOCK, SENTINEL, Execution, Outcome, Proposal, Verb
from lifecycle.review import Decision, Review
from lifecycle.state import State
from lifecycle.tier import Puller, Tier
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
    the_tools,
)
from tests.cases.cards import a_card, fact, written

MINUTE_MS = 60_000


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


@pytest.mark.parametrize("enveloped", [True, False])
def test_bounds_of_fields_that_no_envelope_enforces_are_named(enveloped: bool) -> None:
    envelope = {
        "allowed_side_effects": ["email"],
        "forbidden_effects": [],
        "max_affected_records": 1,
        "reversible_required": False,
    }
    bounds = {"allowed_fields": ["phone"], "forbidden_fields": ["role"], "region": "eu"}
    target = MAIL["target"] | {"constraints": bounds}
    document = a_document(MAIL, target=target, risk_envelope=envelope if enveloped else None)

    named = "region" if enveloped else "allowed_fields, forbidden_fields, region"
    words = f"the proposer's constraints {named}"
    assert fact(a_card(a_proposal(document)), "Nobody enforces") == words


@pytest.mark.parametrize("staged", [True, False])
def test_a_card_says_whether_anything_is_done_by_how_it_began_not_by_the_config_of_now(
    staged: bool,
) -> None:
    tool = replace(the_tools()["send-email"], deferred=not staged)
    begun = Execution(
        Verb.EXECUTE,
        1,
        Outcome.DONE,
        began_at_ms=NOW_MS,
        window_opens_at_ms=NOW_MS,
        window_closes_at_ms=NOW_MS + 15 * MINUTE_MS,
        deferred=staged,
    )
    proposal = a_proposal(state=State.EXECUTING, execution=begun, window_s=900)
    card = a_card(proposal, tools=the_tools() | {"send-email": tool})

    words = "Nothing is carried out before" if staged else "It acts at once"
    assert fact(card, "Cannot be undone").startswith(words)


@pytest.mark.parametrize(
    ("state", "verb"),
    [
        (State.COMPLETED, "did"),
        (State.REJECTED, "proposed"),
        (State.ROLLED_BACK, "proposed"),
        (State.EXECUTING, "proposed"),
    ],
)
def test_a_note_says_that_an_agent_did_only_what_was_done(state: State, verb: str) -> None:
    note = a_card(a_proposal(state=state, tier=Tier.AUTO_PLUS))

    assert note.title == f"📝 NOTE: what agent leila {verb} (AUTO+ tier)"


def test_parameters_whose_names_differ_in_blanks_alone_are_told_apart() -> None:
    card = a_card(a_proposal(a_document(PROD, parameters={"count": "9000", "count ": "10"})))

    assert written(card, "count").text == "9000"
    assert written(card, '"count "').text == "10"


def test_a_roll_back_that_was_asked_for_is_not_told_as_done() -> None:
    proposal = ended(State.COMPLETED, "window_closed_unopposed", CLOCK, "Nobody objected.")
    card = a_card(proposal, a_review("ana", Decision.ROLL_BACK, "wrong amount"))

    asked = 'roll back asked for by person ana, 2026-03-02 12:01:00 UTC (discord): "wrong amount"'
    assert fact(card, "Decisions").startswith(asked)


def test_what_a_tool_adds_by_config_stands_on_the_card() -> None:
    beside = Beside(a_policy(), NOW_MS, (), {"from": "agents@shop.example"})

    assert fact(card_of(a_proposal(), beside), "The tool adds") == "from: agents@shop.example"


def test_a_reply_reads_the_same_without_tables() -> None:
    assert CommandReply.words("one", "two").text == "one\ntwo"
