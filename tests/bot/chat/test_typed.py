"""What nobody sees at the edge of a word is no part of it, whatever character it is."""

from __future__ import annotations

import pytest

from bot.chat.commands.typed import bare_id, split_id, typed
from bot.chat.discord.commands import command_text
from bot.chat.hearing.stops import StopOf, stop_typed
from bot.chat.terminal.speakers import named
from tests.builders import MAIL
from tests.terminal import a_terminal

UNSEEN = "\t\n\x1f \x85\xa0\xad\u061c\u1680\u180e\u2000\u200b\u200f\u2028\u202e\u205f\u2060\u206f"
UNSEEN += "\u3000\u3164\ufeff"


@pytest.mark.parametrize("char", UNSEEN)
def test_a_command_and_its_id_are_read_without_what_nobody_sees_around_them(char: str) -> None:
    for blank in (char, f"{char} ", f" {char}", f"{char} {char}"):
        word, rest = typed(f"{blank}Reject{blank} {blank}p1{char} why not")
        assert (word, split_id(rest)) == ("reject", ("p1", "why not"))


@pytest.mark.parametrize(
    ("given", "bare"),
    [("“p1”,", "p1"), ("$p1", "p1"), ("-p.1_", "-p.1_"), ("_p1-", "_p1-"), ("``", "``")],
)
def test_marks_that_no_id_has_are_left_out_around_one(given: str, bare: str) -> None:
    assert bare_id(given) == bare


def test_what_is_held_as_it_is_heard_is_what_a_stop_names_and_a_withdrawal_exactly() -> None:
    assert stop_typed("reject `p1` why") == StopOf(proposal_id="p1")
    assert stop_typed("withdraw p1") == StopOf(proposal_id="p1", takes_back=True)
    assert stop_typed("withdraw `p1`") == StopOf(proposal_id="`p1`", takes_back=True)


@pytest.mark.parametrize("typed_so", ["\u200bben: reject p1 so", "ben\u200b: reject p1 so"])
def test_a_name_with_what_nobody_sees_around_it_is_nobodys(typed_so: str) -> None:
    assert named(typed_so)[0] != "ben"


@pytest.mark.parametrize("command", ["approve", "retry", "settle"])
@pytest.mark.parametrize("sign", "\u061c\u200f\u202b\u202e\u2067")
async def test_nothing_goes_on_for_an_id_that_a_sign_before_it_turns_into_another(
    command: str, sign: str
) -> None:
    terminal = a_terminal()
    await terminal.proposes(MAIL, proposal_id="1-yap")
    for typed_so in (f"{command} {sign}1-yap", f"{command}{sign} 1-yap", f"{command} {sign} 1-yap"):
        told = await terminal.types(f"ana: {typed_so}")
        assert "another id may be read there" in told[0]
        with_mention = command_text(typed_so.replace(" ", "<@7> ", 1), 7)
        assert with_mention is not None
        assert "another id may be read there" in (await terminal.types(f"ana: {with_mention}"))[0]
    assert "approved by 0 of 1" in "".join(await terminal.types("ana: show 1-yap"))


async def test_a_sign_behind_the_id_turns_nothing_of_an_approval_and_a_stop_counts_with_any() -> (
    None
):
    terminal = a_terminal()
    await terminal.proposes(MAIL, proposal_id="p1")
    assert "Approved" in (await terminal.types("ana: approve p1\u200f \u202bso\u202c"))[0]
    assert "olled back" in "".join(await terminal.types("ana: roll-back \u202ep1 why"))
