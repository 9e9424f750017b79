"""Texts that were made to be long to read: they are read once, on the loop as elsewhere."""

from __future__ import annotations

import io
import time
from itertools import islice
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.chat.cards.neutral import neutral, one_line
from bot.chat.commands.commands import Commands
from bot.chat.commands.listing import card_reply, what_of
from bot.chat.commands.replies import CommandReply
from bot.chat.commands.typed import inline_json
from bot.chat.discord.render import CONTENT_LIMIT, answer_messages, length, literal, pieces_of
from bot.chat.terminal.render import Screen, card_lines
from tests.builders import MAIL
from tests.cases.cards import a_card, mail_with
from tests.places import at, proposes
from tests.stage import in_memory

LIMIT = 262_144


async def test_a_text_of_backslashes_is_shown_in_discord_and_the_next_command_is_heard() -> None:
    async with at("discord") as place:
        await proposes(place, MAIL, parameters=MAIL["parameters"] | {"body": "\\" * 2_000})

        await place.says("ana", "show p1")
        await place.says("ana", "pending")

        assert "1 pending" in place.all_of_ours()


@given(
    st.lists(st.tuples(st.sampled_from(["\\", "\\*", "a", "🙂", "`", "\n"]), st.integers(1, 999)))
)
def test_pieces_of_an_answer_fit_and_are_all_of_it_with_no_escape_cut_in_two(
    runs: list[tuple[str, int]],
) -> None:
    text = literal("".join(each * times for each, times in runs))

    pieces = list(islice(pieces_of(text), 1_000))

    assert "".join(pieces) == text
    assert all(length(piece) <= CONTENT_LIMIT for piece in pieces)
    assert all((len(each) - len(each.rstrip("\\"))) % 2 == 0 for each in pieces[:-1])


def test_an_answer_of_backslashes_is_whole_in_a_file() -> None:
    words = "\\" * 20_000

    said = answer_messages(CommandReply.words(words))

    assert len(said) == 1
    assert said[0].attachment is not None
    assert said[0].attachment.text == f"{words}\n"


@pytest.mark.parametrize("blank", [" ", "\t", "\n", " \n", "\u3000"])
@pytest.mark.parametrize("begin", ["```", "```json", "`", ""])
def test_blanks_behind_an_open_fence_are_read_once(begin: str, blank: str) -> None:
    text = begin + blank * (LIMIT // len(blank))
    began_s = time.thread_time()

    assert inline_json(text) == text

    assert time.thread_time() - began_s < 1


@pytest.mark.parametrize(
    ("fenced", "inside"),
    [
        ("```json \t\n{}\n```\n", "{}\n"),
        ("```\n\n {}```", "\n {}"),
        ("```json```", ""),
        ("```   ```", ""),
        ("```jsonl\n{}```", "l\n{}"),
        ("``` a ``` b ```", "a ``` b "),
    ],
)
def test_what_stands_in_a_fence_is_the_document(fenced: str, inside: str) -> None:
    assert inline_json(fenced) == inside


class _Keyboard(io.StringIO):
    def isatty(self) -> bool:
        return True


HOSTILE = ["é.аа ", "\ufe0f ", "аa ", "аa", "pw=a1b2 ", "\\u{A} "]


@pytest.mark.parametrize("piece", HOSTILE)
def test_thirty_lines_of_the_board_take_no_longer_for_documents_of_any_length(piece: str) -> None:
    long_ones = [
        mail_with(subject=f"{number} " + piece * (60_000 // len(piece))) for number in "ab"
    ]
    began_s = time.thread_time()

    lines = [what_of(each) for each in long_ones * 15]

    assert time.thread_time() - began_s < 0.5
    assert all("more characters)" in line for line in lines)


@pytest.mark.parametrize(
    "secret", ["eyJhbGciOiJIUzI1NiJ9." + "a" * 2_000 + ".b", "Bearer " + "a1" * 999]
)
@pytest.mark.parametrize("place", [0, 60, 500, 990, 1_020])
def test_the_line_of_a_long_text_shows_no_part_of_a_credential(secret: str, place: int) -> None:
    text = "word " * (place // 5) + secret + " and more" * 300

    assert neutral(text).text.startswith(one_line(text, 1_500).partition("…")[0].strip())
    assert secret[8:20] not in one_line(text, 1_500)


async def test_a_long_document_is_written_out_beside_the_work_of_others(tmp_path: Path) -> None:
    async with in_memory(tmp_path) as world:
        target = MAIL["target"] | {"constraints": {"a": "é.аа " * 12_000}}
        await world.submits(target=target, proposal_id="p1")
        began_s = time.thread_time()

        shown = await Commands(world.workflow).run("show p1", world.sender("ana"))

        assert time.thread_time() - began_s < 0.15
        assert "xn--" in shown.text


def test_a_card_of_thousands_of_fields_is_written_and_not_drawn() -> None:
    card = a_card(mail_with(**{f"field{number}": number for number in range(6_000)}))
    carded, answered = _Keyboard(), _Keyboard()
    began_s = time.thread_time()

    Screen(carded).card(card)
    Screen(answered).reply(card_reply(card))

    assert time.thread_time() - began_s < 0.5
    assert carded.getvalue().split() == " ".join(card_lines(card)).split()
    assert "field5999 (not sent) · 5999" in answered.getvalue()
