"""Neutral text: a person reads what the machine will do."""

from __future__ import annotations

import time
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.chat.cards.letters import invisible, joins_emoji
from bot.chat.cards.neutral import neutral, neutral_value, one_line


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ("Hello", "Hello"),
        ("", "(empty)"),
        ("(empty)", '"(empty)"'),
        ("   ", "␣×3"),
        ("a\nb", "a ⏎ b"),
        ("a\r\n\r\n\nb", "a ⏎×3 b"),
        ("a" + " " * 500 + "rm", "a ␣×500 rm"),
        ("a  b", "a  b"),
        ("\u200b" * 50 + "x", "\\u{200B}×50x"),
        ("\x1b[31mred", "\\u{1B}[31mred"),
        ("a\u2028b", "a\\u{2028}b"),
        ("a\u00a0b", "a\\u{A0}b"),
        ("typed \\u{202E}", "typed \\\\u{202E}"),
        ("typed ⏎", "typed \\u{23CE}"),
        ("p\u0430ypal", "p\\u{430}ypal"),
        ("\U0001d5fdat", "\\u{1D5FD}at"),
        ("Привет, мир", "Привет, мир"),
        ("漢字とカナ", "漢字とカナ"),
        ("Grüße, café", "Grüße, café"),
        ("m\u00fcller.example", "xn--mller-kva.example"),
        ("\u0430pple.example", "xn--pple-43d.example"),
        ("plain.example", "plain.example"),
        ("❤️ 👩\u200d💻", "❤️ 👩\u200d💻"),
        ("x\u200dy", "x\\u{200D}y"),
        ("\u3164", "\\u{3164}"),
        ("e\u0301t\u0301", "e\u0301t\u0301"),
        ("उदाहरण.परीक्षा", "xn--p1b6ci4b4b3a.xn--11b5bs3a9aj6g"),
        ("m" + "u\u0308" + "ller.example", "xn--mller-kva.example"),
        ("网址：shop.example，谢谢", "网址：shop.example，谢谢"),
        ("10.50\u201212.50, 1\u20442 cup, Mo.–Fr.", "10.50\u201212.50, 1\u20442 cup, Mo.–Fr."),
        ("क्षि གྲུབ שָׁלוֹם ế", "क्षि གྲུབ שָׁלוֹם ế"),
        ("今天天气很好。我们去公园吧。", "今天天气很好。我们去公园吧。"),
        ("それは本です｡これはペンです", "それは本です｡これはペンです"),
        ("http://例え。テスト", "http://xn--r8jz45g.xn--zckzah"),
        ("你好。пример.com", "你好。xn--e1afmkfd.com"),
        ("shop。пример", "shop.xn--e1afmkfd"),
        ("See...müller.example", "See...xn--mller-kva.example"),
        ("é.com.b", "xn--9ca.com.b"),
        ("版本1.2\uff0cPython3.11", "版本1.2\uff0cPython3.11"),
        ("Price\uff1a10.50", "Price\uff1a10.50"),
        ("1\ufe0f\u20e3 #\ufe0f\u20e3", "1\ufe0f\u20e3 #\ufe0f\u20e3"),
        ("1\ufe0f0 \ufe0f\u20e3", "1\\u{FE0F}0 \\u{FE0F}\u20e3"),
        ("=\u0338", "=\\u{338}"),
        ("a \u0301b", "a \\u{301}b"),
    ],
)
def test_text_is_shown_with_nothing_hidden(raw: str, shown: str) -> None:
    assert neutral(raw).text == shown


@pytest.mark.parametrize(
    "dressed", ["{}", "pat@{}", "https://{}/a", "to: {}.", "(a.{})", "\u043e {}"]
)
@pytest.mark.parametrize(
    ("host", "is_warned_of"),
    [
        *(("m\u00fcller.example", True), ("xn--mller-kva.example", True)),
        *(("shop.XN--P1AI", True), ("shop.example", False), ("axn--b.example", False)),
        *(("a-xn--b.example", False), ("xn--", False)),
    ],
)
def test_a_host_whose_letters_are_not_those_shown_is_warned_of(
    dressed: str, host: str, is_warned_of: bool
) -> None:
    warnings = neutral(dressed.format(host)).warnings

    assert ("a host with letters beyond a–z, shown in its xn-- form" in warnings) is is_warned_of


def test_a_file_keeps_the_line_breaks_and_nothing_else_that_hides() -> None:
    assert neutral("a\n\nb\u200b", lines=True).text == "a\n\nb\\u{200B}"


def test_values_are_json_and_their_secrets_masked_by_name_and_shape() -> None:
    shown = neutral_value({"api_key": "k-1234567890", "n": 1.5, "ok": True, "list": ["a"]}).text

    assert shown == '{"api_key": "‹secret, 12 characters›", "n": 1.5, "ok": true, "list": ["a"]}'


def test_one_line_counts_what_it_leaves_out() -> None:
    assert one_line("x" * 30, 10) == "xxxxxxxxxx… (20 more characters)"


@given(st.text(max_size=200))
def test_no_neutral_text_hides_anything(text: str) -> None:
    shown = neutral(text).text

    assert shown
    assert "\n" not in shown
    hidden = [i for i, char in enumerate(shown) if invisible(char)]
    assert all(joins_emoji(shown, place) for place in hidden)


@pytest.mark.parametrize(
    "pattern",
    [
        "é а",
        "a.é",
        " \n",
        "a-",
        "é.",
        "\u200b",
        "\\u{A}",
        "🙂",
        "аa",
        "a⁄",
        "a⁄.é",
        "a\u3002",
        "é\uff0e",
        " ",
        "\t",
        "e\u0323.",
        "\u0301",
    ],
)
def test_hostile_text_takes_no_longer_than_other_text(pattern: str) -> None:
    began_s = time.thread_time()
    neutral(pattern * (65_536 // len(pattern)))

    assert time.thread_time() - began_s < 2


def test_long_words_of_a_stranger_fill_no_memory() -> None:
    neutral("пaypal" * 3_000)
    tracemalloc.start()
    try:
        for number in range(20):
            neutral("пaypal" * 3_000 + f"ж{number}")
        kept_bytes, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert kept_bytes < 1_000_000
