"""Folded texts: what a reader takes for the same is the same, and folding has an end."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from unicodedata import category

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lifecycle.text.folding import folded, legible, narrow, readings, seen, uncased, visible
from lifecycle.text.markup import decoded, leftover_escape, stripped, variants
from lifecycle.text.undressed import undressed

ROOT = Path(__file__).resolve().parents[2]
TEXTS = st.text(max_size=40)


@given(TEXTS)
def test_folding_twice_changes_nothing(text: str) -> None:
    for fold in (seen, folded, uncased, visible, legible):
        assert fold(fold(text)) == fold(text)


@given(TEXTS)
def test_a_folded_text_holds_nothing_invisible(text: str) -> None:
    left = {category(character) for character in seen(text)}

    assert left & {"Cf", "Mn", "Mc", "Me", "Cc", "Zs", "Zl", "Zp"} <= {"Zs"}
    assert "  " not in seen(text)


@given(
    TEXTS, st.sampled_from(["\u200b", "\u00ad", "\u2060", "\ufe0f", "\u0301", "\u034f", "\u3164"])
)
def test_what_nobody_sees_changes_nothing(text: str, unseen: str) -> None:
    assert seen(unseen.join(text)) == seen(text)


def test_every_character_folds_once_and_for_all() -> None:
    places = (*range(0xD800), *range(0xE000, 0x20000), *range(0xE0000, 0xE1000))
    every = [chr(n) for n in places]  # further up there are ideographs alone
    unstable = [c for c in every if folded(folded(f"a{c}b")) != folded(f"a{c}b")]

    assert unstable == []


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("F1naI", "final"),
        ("ﬁnal", "final"),
        ("ＦＩＮＡＬ", "final"),
        ("FİNAL", "final"),
        ("fіnаl", "final"),
        ("final\n\u00a0 x", "final x"),
        ("p@ssw0rd", "password"),
        ("Straße", "STRASSE"),
        ("a\u03f2\u03f2ess", "access"),
        ("A\u03f9CESS", "access"),
        ("\u03d6arning", "warning"),
        ("\u1e9dinal", "final"),
        # Newer than the Unicode of Python 3.11, the outlined ones than that of 3.13.
        ("\U0001ccdb\U0001ccde\U0001cce3\U0001ccd6\U0001cce1 \U0001ccf9", "final 9"),
        ("fin\U0001e030l w\U0001e051rning", "final warning"),
        ("fi\u1acfnal wa\U00013439rning\U00010efc", "final warning"),
        ("\u209darn \ua7f1urel\u209e", "warn surely"),
    ],
)
def test_imitations_share_one_form(one: str, other: str) -> None:
    assert folded(one) == folded(other)


def test_different_numbers_stay_different() -> None:
    assert len({folded(str(number)) for number in range(2000)}) == 2000


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("w1ll", {"w1ll", "will", "wlll"}),
        ("fail", {"fail"}),
        ("FAIL", {"fail"}),
        ("finaI", {"fina1", "finai", "final"}),
    ],
)
def test_a_stroke_may_be_read_as_i_or_l(text: str, expected: set[str]) -> None:
    assert set(readings(seen(text))) == expected


def test_letters_that_this_python_has_not_heard_of_are_the_plain_ones_as_well() -> None:
    """They passed for letters of their own until a newer Python ran: the Unicode was its own."""
    written = "\U0001e030\U0001e031\U0001e04a\U0001e06d"

    assert uncased(written) == narrow(written) == "\u0430\u0431\ua689\u04b1"
    assert narrow("\U0001ccd6\U0001ccef\U0001ccf0\U0001ccf9") == "AZ09"


def test_letters_keep_their_script_where_only_case_is_folded() -> None:
    assert uncased("ПРЕ\u200bДУПРЕЖДЕНИЕ") == "предупреждение"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a<b>c</b>d", "acd"),
        ("a<br/>b<p class='x'>c", "a b c"),
        ("a<!-- b -->c", "ac"),
        ("a<!-- b", "a"),
        ("a<script>b()</script>c", "ac"),
        ("a<span style='display: none'>b</span>c", "ac"),
        ("1 < 2 and 3 > 2", "1 < 2 and 3 > 2"),
        ("a <b", "a <b"),
        ("a<b title='>'>c", "ac"),
        ('a<b ">b<b ">c', "abc"),
        ('a<!x">b<!x">c', "abc"),
        ("a<!-- b --!>c", "ac"),
        ("a<!-->b<!--->c", "abc"),
        ("a<p title='hidden gem'>b</p>c", "a b c"),
        ("a<i class=not-hidden aria-hidden=true>b</i>c", "abc"),
        ("a<i class=x HIDDEN>b</i>c", "ac"),
        ("<head>a<title>b</title></head>c", "ac"),
        ("**a** `b` ~~c~~", "a b c"),
        ("[a](https://x.test) ![b](y)", "a b"),
        ("[a](https://x.test/(y))b", "ab"),
        ("[a](https://x.test '(')b", "ab"),
        ('[a](https://x.test "[")b', "ab"),
        ("[![a](x)](y)b", "ab"),
        (r"a\*b", "ab"),
    ],
)
def test_markup_is_stripped(text: str, shown: str) -> None:
    assert stripped(text)[0] == shown


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("%66%C3%A9", "fé"),
        ("&#102;&#x66;&amp;&eacute;", "ff&é"),
        ("&#0000000102;&#x0000066;", "ff"),
        (r"\u0066\x66\u{66}", "fff"),
        ("100% fair", "100% fair"),
        (r"\ud800", r"\ud800"),
        (r"\u{ffffff}", r"\u{ffffff}"),
        ("%2520", "%20"),
    ],
)
def test_one_level_of_escapes_is_decoded(text: str, plain: str) -> None:
    assert decoded(text) == plain


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("%2520", "%20"),
        ("&amp;lt;", "&lt;"),
        ("%5Cu0066", r"\u0066"),
        ("&#37;66", "%66"),
        ("%20", None),
        ("R&D; 50%", None),
        ("?a=1&amp;region=eu&amp;copy=2", None),
        ("&amp;#102inal", "&#102"),
        (r"C:\new", None),
    ],
)
def test_an_escape_that_is_left_over_is_seen(text: str, left: str | None) -> None:
    assert leftover_escape(text) == left


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ('<p title="hidden gem">fi<b></b>nal</p>', "final"),
        ("fi<i class=hidden>x</i>nal", "final"),
        ("fi<i hidden>x</i>nal", "final"),
        ("<style>fi<b></b>nal</style>", "final"),
        ("<b title='a>fi<i></i>nal", "final"),
        ("<https://x.test|fi>nal", "final"),
        ("\u202elanif\u202c", "final"),
        ("fi\u202elan\u202c", "final"),
        ("\u017final", "final"),
        ("&#383;inal", "final"),
    ],
)
def test_what_some_program_shows_is_a_variant(text: str, shown: str) -> None:
    assert any(shown in visible(variant) for variant in variants(text))


@pytest.mark.parametrize("text", ["a b", "&#97; b", "a <b>b</b>", "a <i hidden>c</i>b", "*a* b"])
def test_one_text_is_what_most_readers_see(text: str) -> None:
    assert undressed(text) == "a b"


@given(st.text("<>!-/ab'\"%&;\\u0*_[]()|", max_size=60))
def test_the_text_as_written_is_always_a_variant(text: str) -> None:
    assert variants(text)[0] == text


@pytest.mark.parametrize(
    "piece",
    [
        "<",
        "<a ",
        "<b>x</b>",
        '<a ">" ',
        '<a ="',
        '[a]("',
        "[a]((",
        "<a:|",
        "<p title='hidden gem'>",
        "\u202ea",
        "<!--",
        "<style>",
        "<i hidden>",
        "&#65;",
        "%41",
        "[a](",
        "*_",
    ],
)
def test_hostile_markup_takes_linear_time(piece: str) -> None:
    text = piece * (64_000 // len(piece))
    begun = time.thread_time()

    for variant in variants(text):
        seen(variant)

    assert time.thread_time() - begun < 1.0


def test_the_table_of_look_alikes_is_what_the_package_says() -> None:
    made = subprocess.run(
        [sys.executable, ROOT / "scripts" / "look_alikes", "--print"],
        capture_output=True,
        check=True,
        text=True,
    )
    table = json.loads(
        (ROOT / "lifecycle" / "text" / "look_alikes.json").read_text(encoding="utf-8")
    )

    assert sys.version_info >= (3, 12) or json.loads(made.stdout) == table
    assert "а" in table["a"]
