"""Which signs have a text looked at twice, and which are escaped before it is shown."""

from __future__ import annotations

import pytest

from lifecycle.text.display import plain
from lifecycle.text.folding import BRACKETED
from lifecycle.text.markup import is_plain
from lifecycle.text.turned import SIGNS


@pytest.mark.parametrize("sign", [*"<>&%\\*_~`|[]", *SIGNS, *BRACKETED, "=?", "==?", "=?="])
@pytest.mark.parametrize("around", ["{}", "{} a", "a {}", "a{}b", "= {}", "ä {} ö", "a\n{}"])
def test_each_sign_of_markup_or_of_an_escape_is_found_wherever_it_stands(
    sign: str, around: str
) -> None:
    assert not is_plain(around.format(sign))


@pytest.mark.parametrize(
    "text", ["", "a = b", "a == b", "a=b?", "why? = so", "= ?", "{a: (b)}", "ä = ö", "1 + 1 = 2!"]
)
def test_an_equals_sign_is_a_sign_of_an_escape_only_before_a_question_mark(text: str) -> None:
    assert is_plain(text)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("www.shop.example", "www\\.shop.example"),
        ("WwW.shop.example", "WwW\\.shop.example"),
        ("at www.a and wwww.b", "at www\\.a and wwww\\.b"),
        ("ww.shop.example", "ww.shop.example"),
        ("... .www", "... .www"),
        ("a*b_c", "a\\*b\\_c"),
        ("@all: #1!", "\\@all\\: \\#1\\!"),
        ("\\(x)~`|&<>[]{}", "\\\\\\(x\\)\\~\\`\\|\\&\\<\\>\\[\\]\\{\\}"),
        ("nothing to escape.", "nothing to escape."),
    ],
)
def test_what_a_reader_would_take_for_markup_or_a_link_is_escaped(text: str, shown: str) -> None:
    assert plain(text) == shown
