"""Cases C05, C08 and C09: styles that hide, signs that look like a blank, texts in pieces."""

from __future__ import annotations

import time
from typing import Any

import pytest

from lifecycle.text.hypertext import renderings
from lifecycle.text.pieces import pieces_in
from lifecycle.text.undressed import undressed
from tests.builders import MAIL, a_document
from tests.checking import found, sentinel_with
from tests.world import World

HIT = {("prohibited_content", "prohibited_phrase", "parameters.body")}


def found_in(body: str) -> set[tuple[str, str, str]]:
    return found(a_document(MAIL, parameters={"to": "pat@partner.example", "body": body}))


@pytest.mark.parametrize(
    "style",
    [
        *("position:absolute;left:-9999px", "text-indent: -9999px", "margin-left:-500em"),
        *("mso-hide:all", "visibility:collapse", "color:transparent", "transform:scale(0)"),
        *("width:0", "max-height:0px", "font:0/0 a", "font-size:1px", "font-size: .1em"),
        *("clip:rect(0,0,0,0)", "clip-path:inset(50%)", "DISPLAY:/**/none", "d\\69splay:none"),
        *("opacity:0.0", "font-size:+00.px", "opacity: .0; color:red"),
        *("zoom:0", "scale: 0", "transform:scaleX( 0 )", "transform:translateX(-9999px)"),
        *("margin:0 0 0 -9999px", "left:calc(-9999px)", "left:9999px", "text-indent:-99em"),
        *("color:rgba(0,0,0,0)", "color:#fff0", "-webkit-text-fill-color:transparent"),
        *("font-size:-0", "filter:opacity(0)", "opacity:0.01", "opacity:1%"),
    ],
)
def test_C05_what_a_style_hides_inside_a_phrase_parts_no_phrase(style: str) -> None:
    assert found_in(f'fi<span style="{style}">x</span>nal warning') == HIT
    assert found_in(f'<p style="{style}">your final warning</p>') == HIT


@pytest.mark.parametrize(
    "body",
    [
        "<style>.z{display:none}</style>fi<span class=z>x</span>nal warning",
        "<style>#z{left:-9999px}</style>fi<span id='z'>x</span>nal warning",
        "<style>.z{d\\69splay:none}</style>fi<b class=z>x</b>nal warning",
        "fi<dialog>x</dialog>nal war<rp>(</rp>ning",
        '<div style="left:-100px">fi<i class="hidden">x</i>nal warning</div>',
        "fi<p hidden>x</p>nal w<br hidden>ar<td style='display:none'>x</td>ning",
        "fi<div hidden><div>x</div></div>nal warning",
        "fi<span hidden>a<span>b</span>c</span>nal <i hidden>d<img></i>warning",
        "fi<div hidden><!-- <div> -->x</div>nal warning",
        "<style><style></style>fi<i hidden>q</i>nal warning</style>",
        "<style>b{display:none}</style>fi<b>x</b>nal warning",
        "<style>@media print{.q{} .z, p{display:none}}</style>"
        "fi<b class=z>x</b><b class=y>nal</b> warning",
        "<style>.a .z > *{left:-9999px}</style>fi<b class=z>x</b>nal warning",
        "<style>[lang]{display:none}</style>fi<b lang=de>x</b>nal warning",
        "<![CDATA[final <i hidden>x</i>warning]]>",
    ],
)
def test_C05_what_a_sheet_or_an_element_hides_parts_no_phrase(body: str) -> None:
    assert found_in(body) == HIT


@pytest.mark.parametrize(
    "body",
    [
        "<div><div hidden><!-- <div> --></div>final <i hidden>x</i>warning</div>",
        "<div><div hidden><i title='<div>'></i></div>final <i hidden>x</i>warning</div>",
        "<div><div hidden><style><div></style></div>final <i hidden>x</i>warning</div>",
        "fi<img hidden>nal <b hidden>x</b>warning</img>",
        "fi<br hidden>nal <b hidden>x</b>warning</br>",
        "<div><span hidden>x</div>final <i hidden>y</i>warning<span></span>",
        "<p hidden>a<p>final <i hidden>x</i>warning</p>",
        "<ul><li hidden>a<li>final <i hidden>x</i>warning</ul>",
        "<table><tr><td hidden>a<td>final <i hidden>x</i>warning</td></table>",
        "fi<span><b hidden>x</span>y</b>nal warning",
        "<div>fi<span hidden><table><td>x</div>y</table></span>nal warning",
        "fi<i hidden><iframe></i></iframe>x</i>nal warning",
    ],
)
def test_C05_what_stands_behind_a_hidden_element_is_not_hidden_with_it(body: str) -> None:
    """It ends where a browser ends it, whatever in it only looks like its end or another begin."""
    assert found_in(body) == HIT


@pytest.mark.parametrize("style", ["font-size:0.9em", "font-size:0.95rem", "opacity:0.9"])
def test_C05_what_is_only_smaller_or_paler_is_read(style: str) -> None:
    hidden = "<i style='display:none'>x</i>"

    assert found_in(f"fi<b style='{style}'>n</b>al{hidden} warning") == HIT
    assert "900 to ben" in undressed(f"Pay <b style='{style}'>900 to ben</b>")


@pytest.mark.parametrize(
    "body",
    [
        "<p style='left:-999px;width:0'>the final word</p> and no warning",
        "<style>.z{display:none}</style><b class=z>final</b> word, <b class=a>no warning</b>",
        "<td style='background-color:transparent;margin:0;height:0'>Invoice 2847</td>",
    ],
)
def test_C05_styles_alone_make_no_phrase(body: str) -> None:
    assert found_in(body) == set()


@pytest.mark.parametrize(
    "blank",
    [
        *("\u3164", "\uffa0", "\u115f\u1160", "&#12644;", "%E3%85%A4"),
        *("\u200b", "\u200b\u2060", "&ZeroWidthSpace;", "%E2%80%8B"),
        *("\u180e", "&#6158;", "%E1%A0%8E"),
    ],
)
def test_C08_a_filler_that_shows_as_a_blank_is_one(blank: str) -> None:
    assert found_in(f"final{blank}warning") == HIT


def test_C08_a_filler_is_nothing_inside_a_word_and_a_blank_between_two() -> None:
    hell = sentinel_with("prohibited_content", phrases=["hell"])

    def is_found(body: str) -> bool:
        return bool(found(a_document(MAIL, parameters={"body": body}), hell))

    assert is_found("he\u3164ll")
    assert is_found("what\u3164the\u3164hell\u3164is")
    assert is_found("he\u200bll")
    assert is_found("the\u200bhell\u200bis")
    assert not is_found("s\u200bhells")
    assert not is_found("she\u200bll")
    assert not is_found("he llama")


@pytest.mark.parametrize(
    ("parameters", "path"),
    [
        (
            {"ops": [{"insert": "fi"}, {"insert": "nal", "bold": True}, {"insert": " warning"}]},
            "ops",
        ),
        ({"a": [{"text": {"content": "final w"}}, {"text": {"content": "arning"}}]}, "a"),
        (
            {
                "blocks": [
                    {"type": "p", "runs": [{"t": "b", "text": "fi"}, {"text": "nal warning"}]}
                ]
            },
            "blocks[0].runs",
        ),
        ({"lines": ["final", " war", "ning"]}, "lines"),
        (
            {"runs": [{"text": "final "}, {"href": "/x", "children": [{"text": "warning"}]}]},
            "runs",
        ),
        (
            {
                "runs": [
                    {"type": "link", "children": [{"text": "fi"}]},
                    {"type": "link", "children": [{"text": "nal warning"}]},
                ]
            },
            "runs",
        ),
        ({"p": [{"tag": "b", "children": ["fi"]}, {"href": "/", "kids": ["nal warning"]}]}, "p"),
        ({"p": [{"text": "fi"}, {"kind": 1, "kids": [{"text": "nal warning"}]}]}, "p"),
        ({"p": [{"href": "/", "kids": ["fi"]}, {"href": "/", "kids": ["nal warning"]}]}, "p"),
        ({"node": ["final ", {"tag": "b", "children": ["warning"]}, "!"]}, "node"),
        (
            {"ops": [{"insert": "f\u0456"}, {"insert": "n\u0430l"}, {"insert": "&nbsp;warning"}]},
            "ops",
        ),
    ],
)
def test_C09_a_text_that_stands_in_pieces_is_read_as_one(
    parameters: dict[str, Any], path: str
) -> None:
    assert found(a_document(MAIL, parameters=parameters)) == {
        ("prohibited_content", "prohibited_phrase", f"parameters.{path}")
    }


@pytest.mark.parametrize(
    "rows",
    [
        [{"name": "Final"}, {"name": "Warning lights"}],
        [{"name": "fi", "note": "nal warning"}, {"name": "x", "note": "y"}],
        [{"cells": ["fi"]}, {"cells": ["nal warning"]}],
        ["Final", {"name": "warning"}],
        [{"type": "p", "runs": [{"text": "fi"}]}, {"type": "p", "runs": [{"text": "nal warning"}]}],
    ],
)
def test_C09_what_is_no_piece_of_the_same_text_makes_no_phrase(rows: list[Any]) -> None:
    assert found(a_document(MAIL, parameters={"rows": rows})) == set()


@pytest.mark.parametrize(
    "rows",
    [
        [{"url": "/x", "a": {"text": "fi"}, "b": {"text": "nal warning"}}],
        [{"text": "fi"}, {"title": "nal warning"}],
        [{"a": {"a": {"a": {"a": {"a": {"a": {"text": "fi"}}}}}}}] * 2,
        [{"type": ["b"], "children": ["fi"]}, {"tag": {}, "children": ["nal warning"]}],
    ],
)
def test_C09_what_stands_alone_or_too_deep_is_put_together_with_nothing(rows: list[Any]) -> None:
    assert list(pieces_in({"rows": rows})) == []


def test_C09_a_phrase_that_one_piece_holds_is_told_where_it_stands() -> None:
    rows = [{"text": "your final warning"}, {"text": "x"}]

    assert found(a_document(MAIL, parameters={"rows": rows})) == {
        ("prohibited_content", "prohibited_phrase", "parameters.rows[0].text")
    }


async def test_B04_a_refusal_binds_no_mail_that_differs_in_smaller_print(world: World) -> None:
    def printed(words: str) -> dict[str, str]:
        return MAIL["parameters"] | {"body": f"<p style='font-size:0.9em'>{words}</p>"}

    refused = await world.submits(MAIL, parameters=printed("Your terms are 30 days."))
    await world.rejects("ana", refused.proposal_id or "")

    again = await world.submits(MAIL, parameters=printed("Your *terms* are 30 days."))
    other = await world.submits(MAIL, parameters=printed("We wish you a happy birthday."))

    assert again.reason == "previously_rejected"
    assert other.state == "sentinel_approved"


HOSTILE = {
    "comments": "<b style='" + "/*" * 120_000,
    "ends of comments": "<b style='" + "*/" * 120_000 + "'>",
    "classes": "<style>.z{display:none}</style>" + "<i class=" * 27_000,
    "sizes": "<b style='" + "width:0.00 " * 22_000 + "'>",
    "zeros": "<b style='font-size:" + "0" * 240_000 + "9'>",
    "letters": "<i style='\\64'>x</i>" * 12_000,
    "scales": "<b>" + "scale" * 50_000,
    "places": "<b>" + "left:" * 50_000,
    "sheets": "<style>.a{display:none}" * 10_000,
    "selectors": "<style>" + ".a," * 80_000 + "{display:none}</style><i class=a>",
    "uneven": "<div hidden><div></div>" * 10_000,
    "unclosed": "<div hidden>" * 20_000,
    "cut": "<div hidden>" * 20_000 + "</div",
    "many names": "".join(f"<x{n} hidden>" for n in range(17_000)),
    "ends far away": "".join(f"<x{n} hidden>" for n in range(11_000))
    + "".join(f"</x{n}" for n in range(11_000)),
    "crossed": "<span hidden>" * 9_000 + "<b hidden>" * 9_000 + "</span>" * 5_000,
    "implied": "<p hidden>x" * 20_000,
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_C10_styles_are_read_at_once_however_they_go_on(kind: str) -> None:
    began_s = time.thread_time()

    renderings(HOSTILE[kind])

    assert time.thread_time() - began_s < 0.8
