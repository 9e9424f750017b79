"""The commands in a sentence of the law are written as they are typed where it is read."""

from __future__ import annotations

import pytest

from bot.chat.cards.card_facts import ATTENTION
from bot.chat.cards.content import Field
from bot.chat.commands.as_typed import answer_as_typed, as_typed, card_as_typed
from bot.chat.commands.replies import CommandReply, Table
from tests.cases.slack_content import a_card


@pytest.mark.parametrize(
    "told",
    [
        "look, then: /signoff settle p1 happened | did-not-happen",
        "Nothing was carried out yet: /signoff retry p1, or /signoff roll-back p1 <reason>.",
        "/signoff roll-back p1 <reason>, or let go of that stop: /signoff retry p1, and of a "
        "freeze: /signoff thaw",
        "or let go of that stop: /signoff thaw.",
        "let go of that: /signoff retry p1",
        "until somebody stops it, or lets go of that: /signoff retry ID (a freeze: /signoff thaw).",
        "Where that has waited for 60 s, /signoff thaw lets go of it.",
        "Look (status), and type /signoff thaw again where it still holds.",
        "Nothing is executed. Answer with: /signoff answer q-1 <words>",
        "Frozen by ana: thaw. Nothing executes or commits until thaw.",
        "Frozen by ana: retry ID, all: thaw. Nothing executes or commits until thaw.",
        "What is open is shown by the command /signoff pending.",
        "What is open is shown by the command /signoff pending. (unknown_proposal)",
        "In the shell: signoff show p1",
        "retry p1.x and retry p12 are of others",
    ],
)
def test_what_helps_has_its_prefix_and_what_looks_like_it_has_none(told: str) -> None:
    assert as_typed(told.replace("/signoff ", ""), "/signoff ", "p1") == told


def test_what_an_answer_quotes_of_others_stays_as_they_wrote_it() -> None:
    listed = CommandReply.words("p1, wanted by leila: Write: retry p1. Let go of that stop: thaw.")
    assert answer_as_typed(listed, "/signoff ") == listed


def test_only_what_needs_a_person_names_commands_among_the_facts_of_a_card() -> None:
    """The other facts quote: the reason of an approval may look like a command."""
    facts = (Field("Decided", "approved by person ben: retry p1"), Field(ATTENTION, "retry p1"))
    shown = card_as_typed(a_card(facts=facts), "!")
    assert [each.text for each in shown.facts] == [facts[0].text, "!retry p1"]


def test_only_a_table_of_remedies_names_commands() -> None:
    listed = Table("Waiting", ("id", "what"), (("p1", "the mail says: retry p1"),))
    assert answer_as_typed(CommandReply((listed,)), "!").blocks == (listed,)


def test_a_list_names_the_command_for_its_next_page() -> None:
    listed = CommandReply.words("12 pending, page 1 of 2", "More: pending 2")
    assert answer_as_typed(listed, "!").blocks == ("12 pending, page 1 of 2", "More: !pending 2")
    quoted = CommandReply.words("p1: the mail says More: pending 2", "More: pending 2 of them")
    assert answer_as_typed(quoted, "!") == quoted


def test_an_answer_about_a_proposal_names_its_remedy_although_nothing_was_refused() -> None:
    told = CommandReply(("p1 is kept. To try again: retry p1",), about="p1")
    assert answer_as_typed(told, "!").blocks == ("p1 is kept. To try again: !retry p1",)


@pytest.mark.parametrize(
    ("told", "code"),
    [
        ("There is no command 'foo'. All of them: /signoff help", "unknown_command"),
        (
            "There is no command 'x'. Did you mean /signoff thaw? All of them: /signoff help",
            "unknown_command",
        ),
        ("No proposal has the id 'p9'; see: /signoff pending", "unknown_proposal"),
        ("No such one: `/signoff pending` lists those that wait.", "unknown_proposal"),
        (
            "No such one: `/signoff pending` lists those that wait. Of a longer id, 6 characters "
            "are enough.",
            "unknown_proposal",
        ),
        ("There is no rule 'foo'. All of them: /signoff rules", "unknown_command"),
        ("Already decided by ana: All of them: help, see: pending", "already_decided"),
        ("Here the whole id is needed. Did you mean help?", "ambiguous_id"),
    ],
)
def test_an_answer_to_what_was_not_understood_names_what_can_be_typed(told: str, code: str) -> None:
    reply = CommandReply.words(told.replace("/signoff ", ""), code=code)
    assert answer_as_typed(reply, "/signoff ").text == f"{told} ({code})"
