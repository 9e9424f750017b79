"""Cases C01 to C09: a prohibited phrase is found as its reader would read it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.builders import MAIL, a_document
from tests.checking import found, sentinel_with, the_sentinel, verdict_on

HIT = ("prohibited_content", "prohibited_phrase", "parameters.body")


def mail(body: str) -> dict[str, Any]:
    return a_document(MAIL, parameters={"to": "pat@partner.example", "body": body})


def test_an_ordinary_mail_passes_all_nine_rules() -> None:
    verdict = verdict_on(MAIL)

    assert len(verdict.results) == 9
    assert verdict.passed
    assert verdict.faults() == ()


@pytest.mark.parametrize(
    "body",
    [
        pytest.param("fi\u200bnal war\u00adn\u2060ing", id="C01 zero width, soft hyphen, joiner"),
        pytest.param("f\ufeffinal \u180ewarning", id="C01 byte order mark, vowel separator"),
        pytest.param("fi\U000e0061nal war\ufe0fning", id="C01 tag and variation selector"),
        pytest.param("fi\u3164nal wa\u034frning", id="C01 filler and grapheme joiner"),
        pytest.param("\u202efi\u2066nal\u2069 warning", id="C01 direction marks"),
        pytest.param("fi\x08nal\x00 warning", id="C01 control characters"),
        pytest.param("fіnal wаrning", id="C03 Cyrillic i and a"),
        pytest.param("fınαl ωαrnιng", id="C03 Greek and dotless i"),
        pytest.param("ꜰɪɴᴀʟ ᴡᴀʀɴɪɴɢ", id="C03 small capitals"),
        pytest.param("finаl ᏔᎪrnіng", id="C03 Cherokee"),
        pytest.param("ғɪɴᴀʟ ᴡᴀʀɴɪɴɢ", id="C03 small capitals with a Cyrillic f"),
        pytest.param("ᖴIᑎᗩᒪ ᗯᗩᖇᑎIᑎG", id="C03 syllables as capitals"),
        pytest.param("finaI warning", id="C03 capital I for l"),
        pytest.param("FlNAL WARNlNG", id="C03 small l for capital I"),
        pytest.param("final waming", id="C03 m for rn"),
        pytest.param("f|na| warn|ng", id="C03 strokes for i and l in one text"),
        pytest.param("f∣na│ warn❘ng", id="C03 other strokes"),
        pytest.param("f｜na￨ warning", id="C03 strokes of another width"),
        pytest.param("finaӏ WARNӀNG", id="C03 a palochka for l and for I"),
        pytest.param("ＦＩＮＡＬ ＷＡＲＮＩＮＧ", id="C04 full width"),
        pytest.param("ﬁnal warning", id="C04 ligature"),
        pytest.param("FİNAL WARNİNG", id="C04 dotted capital I"),
        pytest.param("fínál wärnìng", id="C04 accents"),
        pytest.param("f\u0338i\u0338nal wa\u0489rning", id="C04 struck through"),
        pytest.param("𝖋𝖎𝖓𝖆𝖑 𝔀𝓪𝓻𝓷𝓲𝓷𝓰", id="C04 mathematical letters"),
        pytest.param("ⓕⓘⓝⓐⓛ 🅦🅐🅡🅝🅘🅝🅖", id="C04 letters in circles"),
        pytest.param("⒡⒤⒩⒜⒧ 🄦🄐🄡🄝🄘🄝🄖", id="C04 letters in parentheses"),
        pytest.param("fi⒩al warning", id="C04 one letter in parentheses"),
        pytest.param("fi<b></b>nal war<!-- x -->ning", id="C05 tags and a comment"),
        pytest.param("&#102;inal warning", id="C05 entity"),
        pytest.param("&#x66;inal&nbsp;war&shy;ning", id="C05 named entities"),
        pytest.param("fi**nal** war_ning_", id="C05 emphasis"),
        pytest.param("final<br>warning", id="C05 a line break is a blank"),
        pytest.param("fi<b title='>'>nal</b> warning", id="C05 a sign inside quotes"),
        pytest.param("fi<style>x</style>nal warning", id="C05 an element never shown"),
        pytest.param("fi<i hidden>zz</i>nal warning", id="C05 a hidden element"),
        pytest.param("fi<noscript>zz</noscript>nal warning", id="C05 an element seldom shown"),
        pytest.param("<noscript>fi<i></i>nal warning</noscript>", id="C05 inside such an element"),
        pytest.param("[final](https://x.test/a) warning", id="C05 the words of a link"),
        pytest.param("[fi](https://x.test/(a))nal warning", id="C05 a link with parentheses"),
        pytest.param('[fi](https://x.test "[")nal warning', id="C05 a link with a title"),
        pytest.param("<https://x.test|fi>nal warning", id="C05 a link as Slack writes it"),
        pytest.param(
            '<p title="hidden gem">fi<b></b>nal war<b></b>ning</p>', id="C05 a title about hiding"
        ),
        pytest.param("<p class='not-hidden'>fi<i></i>nal warning</p>", id="C05 a class about it"),
        pytest.param("<head>fi<i></i>nal war<i></i>ning</head>", id="C05 a head in the body"),
        pytest.param("<!-- --!>fi<i></i>nal war<i></i>ning", id="C05 a comment's other end"),
        pytest.param('<b ">fi<i></i>nal war<i></i>ning<b ">', id="C05 quotes that are none"),
        pytest.param('<!x">fi<i></i>nal war<i></i>ning<!x">', id="C05 quotes in no tag"),
        pytest.param("&#x0000066;inal &#00000119;arning", id="C05 entities with zeros"),
        pytest.param("\u202egninraw lanif\u202c", id="C05 letters from right to left"),
        pytest.param("&#8238;gninraw lanif", id="C05 from right to left by an entity"),
        pytest.param("Pat, \u2067gninraw lanif\u2069!", id="C05 letters of an isolate"),
        pytest.param("Pat, \u202bgninraw lanif\u202c!", id="C05 letters of an embedding"),
        pytest.param("\u200fwarning\u200f final", id="C05 words of a line from right to left"),
        pytest.param("the \u2067warning\u200f final\u2069", id="C05 words of an isolate"),
        pytest.param(
            "\u2067\u2066warning\u2069 \u2066fi<b></b>nal\u2069\u2069", id="C05 isolates in one"
        ),
        pytest.param("<bdo dir=rtl>gninraw lanif</bdo>", id="C05 a tag that turns letters"),
        pytest.param(
            'Pat, <BDO lang="en" DIR = "RTL">gnin<i></i>raw\nlanif</bdo>!',
            id="C05 tags in such a tag",
        ),
        pytest.param(
            "<span style='unicode-bidi: bidi-override; direction: rtl'>gninraw lanif</span>",
            id="C05 a style that turns letters",
        ),
        pytest.param("> this is your final\n> warning", id="C05 lines of a quotation"),
        pytest.param("> > final\n>> warning", id="C05 a quotation in another"),
        pytest.param("final\\\nwarning", id="C05 a line break of Markdown"),
        pytest.param("# final\n## warning", id="C05 headings"),
        pytest.param("final\n-# warning", id="C05 small print"),
        pytest.param("final\n=====\nwarning", id="C05 a heading by the line below it"),
        pytest.param("final\n\n- - -\n\nwarning", id="C05 a line drawn"),
        pytest.param("final\n---\nwarning", id="C05 a line drawn with hyphens"),
        pytest.param("- final\n  - warning", id="C05 items of a list"),
        pytest.param("+ fi&shy;nal\n+ warning", id="C05 items with another mark"),
        pytest.param("1. final\n2) warning", id="C05 items with numbers"),
        pytest.param("- [ ] final\n- [x] warning", id="C05 items to tick off"),
        pytest.param("> - final\n> - warning", id="C05 items of a quotation"),
        pytest.param("| a | final | **warning** |", id="C05 cells of a table"),
        pytest.param("=?utf-8?B?ZmluYWwgd2FybmluZw==?=", id="C05 a word of a mail's head"),
        pytest.param("=?UTF-8*en?q?fi?=\n =?ascii?Q?n=61l_warning?=", id="C05 two such words"),
        pytest.param("=?utf-16-be?B?AGYAaQBuAGEAbA?= warning", id="C05 such a word in UTF-16"),
        pytest.param("=?none?Q?final=20warning?= =?iso-8859-99?B?eA?=", id="C05 in no charset"),
        pytest.param("fi||nal|| warn~~ing~~", id="C05 spoiler and strike"),
        pytest.param("fi%3Cb%3E%3C/b%3Enal warning", id="C05 markup behind escapes"),
        pytest.param("https://x.partner.example/final%20warning", id="C06 escaped once"),
        pytest.param(r"\u0066inal \x77arning", id="C06 escapes of JSON"),
        pytest.param(r"\U00000066inal warning", id="C06 an escape of eight digits"),
        pytest.param("final\n   warning", id="C08 line break"),
        pytest.param("final\u00a0warning", id="C08 no-break space"),
        pytest.param("final\u2003\u2800warning", id="C08 em space, braille blank"),
        pytest.param("xxxxfinal warning", id="C08 inside a longer word"),
        pytest.param("final warnings", id="C08 a longer last word"),
        pytest.param("f1nal w4rning", id="C08 digits"),
        pytest.param("f1n@l w@rn1ng", id="C08 signs"),
        pytest.param("final-warning", id="C08 a hyphen for the blank"),
    ],
)
def test_a_disguised_phrase_is_found(body: str) -> None:
    assert found(mail(body)) == {HIT}


@pytest.mark.parametrize(
    "body",
    [
        "This is the final word, and no warning.",
        "The version is final. Warning lights stay off.",
        "fin al war ning",
        "a > b: the final\n1 > 0: warning",
        "final | warning lights, 2 + 2\n- 4 is final.\n- Warning lights are off",
        "final\n2026-03-02 warning lights\nfinal\n#7 warning",
        "<bdo dir=ltr>gninraw lanif</bdo> <p dir=rtl>gninraw lanif</p>",
        "=?utf-8?Q?final=20word?=, =?utf-8?B?final and no warning",
        "Invoice 2847 of 455, 10000.00 USD",
        '<a href="https://shop.example/?a=1&amp;region=eu&amp;copy=2">the list</a>',
        "⒜ the word is final ⒝ warning lights stay off",
        "Қазақстан Республикасының ғылым министрлігі, бағдарлама туралы қағаз",
        "ᐃᓄᒃᑎᑐᑦ ᑎᑎᕋᖅᓯᒪᔪᖅ ᓄᓇᕗᑦ ᒐᕙᒪᖓ ᑕᐃᒪ ᑲᑎᒪᔨᑦ",
        "\u200fשלום, Final\u200f מכתב של Warning Lights\u200f תודה",
        "السلام عليكم \u200fPat\u200f، \u202bالفاتورة 120 (USD)\u202c جاهزة",
    ],
)
def test_other_words_are_no_phrase(body: str) -> None:
    assert found(mail(body)) == set()


def test_C01_the_finding_shows_the_phrase() -> None:
    (fault,) = verdict_on(mail("fi\u200bnal warning")).faults()

    assert fault.rule == "prohibited_content"
    assert "“final warning”" in str(fault.suggestion)


def test_C06_what_is_escaped_twice_asks_for_people() -> None:
    verdict = verdict_on(mail("https://x.partner.example/final%2520warning"))

    assert [(f.code, f.level) for f in verdict.faults()] == [("leftover_escape", "soft")]
    assert verdict.passed
    assert verdict.needs_reason


SHORT = {"phrases": ["ass", "hell"]}


@pytest.mark.parametrize(
    ("body", "is_found"),
    [
        ("The classic class in Scunthorpe: hello, please assess the passage.", False),
        ("what the hell", True),
        ("what the H3LL!", True),
        ("hell⒜ and ⒣⒠⒧⒧⒪", True),
        ("⒣⒠⒧⒧⒪", False),
        ("hell's kitchen", True),
        ("hell\u02bcs kitchen, \ua78chell\ua78c", True),
        ("_hell_", True),
        ("@hell", True),
        ("|hell|", True),
        ("│hell┃", True),
        ("a|hel│|b", False),
        ("s|hell|s", True),
        ("h|ell, sh|ell", False),
        ("he|| no", True),
        ("seashells", False),
        ("invoice 455", False),
        ("order 1455-7", False),
    ],
)
def test_C07_a_single_word_is_found_whole(body: str, is_found: bool) -> None:
    found_here = found(mail(body), sentinel_with("prohibited_content", **SHORT))

    assert bool(found_here) is is_found


@pytest.mark.parametrize(
    ("pattern", "body"),
    [
        (r"wire \d+ euros", "please wire 500 euros"),
        (r"secret deal", "SECRET\u200b dea1"),
        (r"Final", "Final"),
        (r"wire in", "w|re │n full"),
    ],
)
def test_patterns_search_the_text_as_written_and_folded(pattern: str, body: str) -> None:
    assert found(mail(body), sentinel_with("prohibited_content", patterns=[pattern])) == {HIT}


@pytest.mark.parametrize(
    "body", ["ПОСЛЕДНЕЕ\u00a0предупреждение", "последнее пре\u200bдупреждение"]
)
def test_a_phrase_of_another_script_is_found_in_any_case(body: str) -> None:
    russian = sentinel_with("prohibited_content", phrases=["последнее предупреждение"])

    assert found(mail(body), russian) == {HIT}


@pytest.mark.parametrize(
    ("word", "body"),
    [
        ("警告", "这是最后警告了"),
        ("เตือน", "นี่คือคำเตือนครั้งสุดท้าย"),
        ("ຕັກເຕືອນ", "ນີ້ແມ່ນການຕັກເຕືອນຄັ້ງສຸດທ້າຍ"),
        ("ព្រមាន", "នេះជាការព្រមានចុងក្រោយ"),
        ("သတိပေး", "ဒါကနောက်ဆုံးသတိပေးချက်ပါ"),
    ],
    ids=["Chinese", "Thai", "Lao", "Khmer", "Burmese"],
)
def test_a_word_of_a_script_without_blanks_is_found_inside(word: str, body: str) -> None:
    assert found(mail(body), sentinel_with("prohibited_content", phrases=[word])) == {HIT}


def test_a_comment_left_open_hides_nothing_in_another_text() -> None:
    document = a_document(MAIL, parameters={"a": "<!--", "b": "fi<b></b>nal warning", "c": "final"})

    assert {path for _, _, path in found(document)} == {"parameters.b"}


def test_the_rules_of_the_example_are_in_the_order_of_the_table() -> None:
    assert [rule.id for rule in the_sentinel().rules][:3] == [
        "prohibited_content",
        "recipients_allowed",
        "deploy_target_allowed",
    ]
