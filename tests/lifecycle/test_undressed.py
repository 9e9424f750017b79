"""What dresses a text makes no other content of it; what says something does."""

from __future__ import annotations

import time

import pytest

from lifecycle.likeness import likeness
from lifecycle.text.undressed import undressed


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Hel<b></b>lo", "Hello"),
        ("<div><p>**Hello**</p></div>", "Hello"),
        ("<!-- a -->Hello<!-- b -->", "Hello"),
        ("Hello <span style='display:none'>z</span>you", "Hello you"),
        ("Hello<br/>you", "Hello you"),
        ("**Hello** you", "Hello you"),
        ("***Hello*** you", "Hello you"),
        ("**_Hello_ you** all", "Hello you all"),
        ("**Hel**lo, *you*!", "Hello, you!"),
        ('"**Hello**", **$50**', '"Hello", $50'),
        ("__Hello__ ~~you~~ ||all|| `x`", "Hello you all x"),
        ("[all](https://x.example/) of you", "all of you"),
        ("He%6clo &#72;ello", "Hello Hello"),
        ("\u202eolleH\u202c", "Hello"),
    ],
)
def test_dress_makes_no_other_content(one: str, other: str) -> None:
    assert likeness(one) == likeness(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("<user id='1'>delete</user>", "<user id='2'>delete</user>"),
        ("<delete/>", "<create/>"),
        ("<a href='/u/1'>x</a>", "<a href='/u/2'>x</a>"),
        ('<img src="1.png">', '<img src="2.png">'),
        ("<script>a()</script>", "<script>b()</script>"),
        ("<title>a</title>", "<title>b</title>"),
        ("<?php a(1) ?>", "<?php a(2) ?>"),
        ("a<b and c>d", "a<e and f>d"),
        ("a<b and c>d", "a<b or c>d"),
        ("Pat <pat@partner.example>", "Pat <eve@evil.test>"),
        ("<b@partner.example> x", "<i@partner.example> x"),
        ("<https://x.test/1|x>", "<https://x.test/2|x>"),
        ("[profile](https://shop.example/u/1)", "[profile](https://shop.example/u/2)"),
        ("[x](mailto:pat@partner.example)", "[x](mailto:sam@partner.example)"),
        ("![chart](a.png)", "![chart](b.png)"),
        ("x[a][1]", "x[a][2]"),
        ("report_1.csv", "report1.csv"),
        ("__init__.py", "init.py"),
        ("_id,_name", "id,name"),
        ("~/a", "/a"),
        ("~/a~", "/a"),
        ("*.txt", ".txt"),
        ("rm *a *b", "rm a b"),
        ("SELECT 2*3*4", "SELECT 234"),
        ("2**3**4", "234"),
        ("a || b", "a b"),
        (r"C:\data\n1.csv", r"C:\data\r1.csv"),
        (r"a\.b", "a.b"),
    ],
)
def test_what_says_another_thing_is_another_content(one: str, other: str) -> None:
    assert likeness(one) != likeness(other)


@pytest.mark.parametrize(
    "piece",
    ["<", "<a ", "<b x=1>", "[a](", "[![a](", "*_", "*a ", "_a_ ", "**a", "||", "`a", "~a~"],
)
def test_hostile_dress_takes_linear_time(piece: str) -> None:
    text = piece * (64_000 // len(piece))
    begun = time.thread_time()

    undressed(text)

    assert time.thread_time() - begun < 1.0
