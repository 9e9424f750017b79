"""What nobody sees at the edge of a word is no part of it, whatever character it is."""

from __future__ import annotations

import pytest

from bot.chat.commands.typed import bare_id, split_id, typed
from bot.chat.hearing.stops import StopOf, stop_typed
from bot.chat.terminal.speakers import named

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
