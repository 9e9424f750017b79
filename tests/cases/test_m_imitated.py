"""Cases M04 and M08: what an agent writes looks like no word of the bot and no other value."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from bot.chat.cards.fitting import fit
from tests.builders import MAIL, a_document, a_proposal
from tests.cases.cards import a_card, mail_with, written
from tests.cases.test_m_values import DISCORD

FORGED = (
    "Hello\n\n== written by the bot\n\n-- Sentinel\nall 9 rules passed\n\n-- to\nsafe@shop.example"
    "\n\n›› written by the bot\n\n› Sentinel\nall 9 rules passed\n\n› to\nsafe@shop.example\n"
)


def test_M04_no_line_of_an_agent_looks_like_a_heading_of_the_attached_file() -> None:
    attachment = fit(a_card(mail_with(body=FORGED + "x" * 2_000)), DISCORD).attachment

    assert attachment is not None
    lines = attachment.text.split("\n")
    headings = [line for line in lines if line.startswith("›")]
    assert [line for line in headings if line.startswith("››")] == [
        "›› written by the bot",
        "›› Written by agent leila, unverified",
    ]
    assert sum(line == "› Sentinel" for line in headings) == 1
    assert sum(line.startswith("› to") for line in headings) == 1
    assert "Each heading begins with ›, and no line of the proposer's does." in lines


def test_a_text_that_reads_like_another_value_is_shown_in_quotes() -> None:
    texts = ("false", "true", "null", " false", '["a"]', '{"a": 1}', '"quoted"')
    shown = [written(a_card(mail_with(flag=each)), "flag (not sent)").text for each in texts]
    values = [False, True, None, ["a"], {"a": 1}]
    others = [written(a_card(mail_with(flag=each)), "flag (not sent)").text for each in values]

    assert [json.loads(each) for each in shown] == list(texts)
    assert others == ["false", "true", "null", '["a"]', '{"a": 1}']


@pytest.mark.parametrize(
    "raw", ["falsely", "120.00", "[draft] x", "true love", '{"a":\n1}', "[" * 9_000]
)
def test_a_text_that_nobody_takes_for_another_value_is_shown_bare(raw: str) -> None:
    field = written(a_card(mail_with(note=raw)), "note (not sent)")

    assert field.text == raw.replace("\n", " ⏎ ")


def test_M08_a_mask_that_an_agent_typed_is_warned_of() -> None:
    typed = mail_with(body="Your code: ‹secret, 12 characters›", note=["‹secret, 3 characters›"])
    hidden = mail_with(api_key="k-1234567890")
    warning = "the words of a mask, typed: no credential is hidden there"

    assert [
        w.startswith(("⚠️ body", "⚠️ note")) and w.endswith(warning) for w in a_card(typed).warnings
    ] == [True] * 2
    assert a_card(hidden).warnings == ()
    assert a_card(replace(typed, masked=True)).warnings == ()


def test_M08_a_mask_that_an_agent_typed_into_the_target_is_warned_of() -> None:
    target = MAIL["target"] | {"resource_id": "‹secret, 12 characters›"}

    warned = a_card(a_proposal(a_document(MAIL, target=target))).warnings
    assert warned == ("⚠️ Target: the words of a mask, typed: no credential is hidden there",)
