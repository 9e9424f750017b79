"""What a card says about time, and which acts it offers when."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from bot.chat.cards.beside import Beside
from bot.chat.cards.card import card_of, colour_of
from bot.chat.cards.card_facts import review_words, verdict_lines
from bot.chat.cards.content import Colour
from bot.chat.cards.spans import about, span_words
from lifecycle.policy import Level
from lifecycle.proposal import (
    ActorKind,
    Attention,
    Execution,
    Identity,
    KeptStop,
    Outcome,
    Proposal,
    Verb,
)
from lifecycle.review import Decision, Review
from lifecycle.state import State
from lifecycle.tier import Puller
from lifecycle.verdict import Finding, RuleResult, Verdict
from tests.builders import NOW_MS, POLICY_DIGEST, PROD, a_document, a_policy, a_proposal
from tests.cases.cards import a_card, fact

MINUTE_MS = 60_000


def executing(**changes: object) -> Proposal:
    execution = Execution(
        Verb.EXECUTE,
        1,
        Outcome.DONE,
        window_opens_at_ms=NOW_MS + 8 * MINUTE_MS,
        window_closes_at_ms=NOW_MS + 23 * MINUTE_MS,
        early=bool(changes.pop("early", False)),
    )
    return a_proposal(state=State.EXECUTING, execution=execution, window_s=900, **changes)


def card(proposal: Proposal):
    return card_of(proposal, Beside(a_policy(), NOW_MS + 8 * MINUTE_MS))


def test_J13_the_end_of_the_window_is_absolute_with_the_time_left_beside_it() -> None:
    window = next(each for each in card(executing()).facts if each.label == "Window")

    assert window.text == "⏱️ 15-min, closes 2026-03-02 12:23:00 UTC (in 15 min)"
    assert window.at_ms == NOW_MS + 23 * MINUTE_MS


def test_inside_a_window_a_cross_rolls_back_and_a_check_mark_does_nothing() -> None:
    content = card(executing())

    assert content.react == "React: ❌ roll back"
    assert content.commands == ("roll-back p1 <reason>",)


def test_a_window_that_the_orchestrator_opened_may_be_closed_early() -> None:
    content = card(executing(early=True))

    assert "✅" in content.react
    assert content.commands[0] == "approve p1"


def test_without_a_window_no_emoji_is_offered() -> None:
    running = Execution(Verb.EXECUTE, 1, Outcome.RUNNING)
    content = card(a_proposal(PROD, state=State.EXECUTING, execution=running))

    assert content.react == ""
    assert content.commands == ()


@pytest.mark.parametrize(
    ("attention", "commands"),
    [
        (Attention.OUTCOME_UNKNOWN, ("settle p1 happened", "settle p1 did-not-happen")),
        (Attention.ENVELOPE_EXCEEDED, ("settle p1 happened",)),
    ],
)
def test_what_needs_a_person_prints_the_command_that_settles_it(
    attention: Attention, commands: tuple[str, ...]
) -> None:
    content = card(a_proposal(PROD, state=State.COMPLETED, attention=attention))

    assert content.colour is Colour.ATTENTION
    assert content.facts[0].label == "⚠️ Needs a person"
    assert content.commands == commands


@pytest.mark.parametrize(
    ("changes", "offered"),
    [({}, True), ({"by_agent": True}, False), ({"verb": Verb.COMMIT}, True)],
    ids=["execute", "by the agent itself", "commit"],
)
def test_what_nobody_knows_of_may_be_tried_again_unless_its_agent_acts(
    changes: dict[str, Any], offered: bool
) -> None:
    doubted = replace(Execution(Verb.EXECUTE, 1, Outcome.UNKNOWN), **changes)
    content = card(
        a_proposal(
            PROD,
            state=State.EXECUTING,
            execution=doubted,
            attention=Attention.OUTCOME_UNKNOWN,
        )
    )

    assert content.commands[:2] == ("settle p1 happened", "settle p1 did-not-happen")
    assert ("retry p1" in content.commands) is offered


def test_what_a_person_has_stopped_is_not_offered_to_be_tried_again() -> None:
    doubted = Execution(Verb.EXECUTE, 1, Outcome.UNKNOWN)
    stop = KeptStop("ben", "wrong version", NOW_MS, "discord")
    proposal = a_proposal(PROD, state=State.EXECUTING, execution=doubted, kept_stop=stop)

    assert "retry p1" not in card(proposal.but(attention=Attention.OUTCOME_UNKNOWN)).commands


def test_what_is_opened_and_waits_for_something_else_asks_nobody_to_approve() -> None:
    content = card(
        a_proposal(
            PROD,
            state=State.SENTINEL_APPROVED,
            opener=Identity(ActorKind.PERSON, "ana"),
            opener_puller=Puller.PERSON,
            waiting_for="frozen",
        )
    )

    assert (content.react, content.commands) == ("React: ❌ reject", ("reject p1 <reason>",))
    state = next(each.text for each in content.facts if each.label == "State")
    assert state == "sentinel_approved: approved, waits for thaw, for everything is frozen"


def test_an_approval_that_was_typed_is_typed_again_and_a_check_mark_given_anew() -> None:
    void = Review("p1", "ana", Decision.APPROVE, "", NOW_MS, "terminal", void_why="restored")

    assert review_words(void).endswith("[no longer counts: restored; approve again]")
    assert "taken off and given anew]" in review_words(replace(void, surface="discord"))


@pytest.mark.parametrize(
    ("state", "told"),
    [
        (State.SENTINEL_APPROVED, "by now; a ✅ that still stands must be taken off and given"),
        (State.EXECUTING, "by now]"),
        (State.COMPLETED, "by now]"),
        (State.REJECTED, "by now]"),
    ],
)
def test_nobody_is_told_to_approve_anew_what_asks_nobody_any_more(state: State, told: str) -> None:
    void = Review("p1", "ana", Decision.APPROVE, "", NOW_MS, "discord", void_why="by now")

    assert told in fact(a_card(a_proposal(PROD, state=state), void), "Decisions")


@pytest.mark.parametrize("key", ["evidence", "task_id"])
def test_what_the_proposer_calls_none_stands_on_the_card(key: str) -> None:
    content = a_card(a_proposal(a_document(PROD, **{key: "none", "approval_class": "none"})))
    said = [each.label for each in content.written if each.text == "none"]

    assert said == ["Evidence" if key == "evidence" else "Task"]


def test_a_finding_about_the_whole_document_names_no_place() -> None:
    late = RuleResult("recipients_allowed", Level.HARD, (Finding("rule_timeout", "", "late"),))

    assert verdict_lines(Verdict((late,), NOW_MS, POLICY_DIGEST)) == (
        "hard: recipients_allowed rule_timeout: late",
    )


def test_a_soft_finding_asks_the_approver_for_a_reason() -> None:
    soft = RuleResult("recipients_allowed", Level.SOFT, (Finding("x", "parameters.to", "odd"),))
    verdict = Verdict((soft,), NOW_MS, POLICY_DIGEST)
    content = card(a_proposal(state=State.SENTINEL_APPROVED, verdict=verdict))

    assert content.commands[0] == "approve p1 <reason>"
    assert content.react == "React: ❌ reject | to approve, type why"
    assert "soft: recipients_allowed x at parameters.to: odd" in {e.text for e in content.facts}


def test_a_time_window_is_written_as_people_read_it() -> None:
    window = {"valid_from_ms": NOW_MS, "valid_until_ms": NOW_MS + 1, "max_duration_ms": 5}
    content = card(a_proposal(a_document(PROD, time_window=window)))
    text = next(each.text for each in content.written if each.label == "Time window asked for")

    assert text.startswith("begins between 2026-03-02 12:00:00 UTC and")


def test_every_state_has_a_colour_of_its_own() -> None:
    colours = [colour_of(a_proposal(state=state)) for state in State]

    assert len(set(colours)) == len(State)


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0, "now"), (900, "in 15 min"), (86_399, "in 23 h 59 min"), (-90, "1 min 30 s ago")],
)
def test_distances_in_time_have_two_units(seconds: int, words: str) -> None:
    assert about(NOW_MS + seconds * 1000, NOW_MS) == words


def test_lengths_of_time_are_adjectives() -> None:
    assert [span_words(s) for s in (900, 7200, 90, 86_400)] == ["15-min", "2-h", "90-s", "1-d"]
