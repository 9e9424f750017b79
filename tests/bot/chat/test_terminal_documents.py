"""A document that takes several lines is one command; nothing inside it is another's."""

from __future__ import annotations

import json

import pytest

from bot.chat.terminal.documents import LONGEST_LINE
from bot.chat.terminal.unclosed import Unclosed
from tests.bot.chat.piping import piped
from tests.builders import NOW_MS, PROD
from tests.terminal import SEARCH, Terminal, a_terminal, documents
from tests.terminal import Lines as TypedLines

PRETTY = json.dumps(SEARCH | {"ts_ms": NOW_MS}, indent=1)
COMPACT = json.dumps(SEARCH | {"ts_ms": NOW_MS})
NOT_CLOSED = "nothing behind it was read as a command"


async def one_open() -> Terminal:
    """d1 waits for a person."""
    terminal = a_terminal()
    await terminal.proposes(PROD, proposal_id="d1")
    terminal.fresh()
    return terminal


async def typed(terminal: Terminal, text: str) -> list[str]:
    """Give the lines of a text, to the end of the input, and return what is printed."""
    await terminal.client.run(TypedLines(*text.encode().split(b"\n")))
    return terminal.fresh()


# -- what is one document -----------------------------------------------------------------------


@pytest.mark.parametrize(
    "proposing",
    [
        f"leila: propose {PRETTY}",
        f"leila: propose\n{PRETTY}",
        f"leila: propose\n\n  \n{PRETTY}",
        f"leila: propose {COMPACT}",
        f"leila: propose ```{COMPACT}```",
        f"leila:propose{PRETTY}",
        f"\ufeffleila: PROPOSE {PRETTY}",
        f"leila: propose ```json\n{PRETTY}\n```",
        f"leila: propose\n```json\n{PRETTY}\n```",
        f"leila: propose\n```\n{COMPACT}\n```",
        f"leila: propose `\n{PRETTY}`",
    ],
)
async def test_a_document_of_several_lines_is_one_command_and_what_surrounds_it_others(
    proposing: str,
) -> None:
    terminal = await one_open()

    lines = await typed(terminal, f"pending\n{proposing}\nreject d1 wrong")

    states = [(each["proposal_id"], each["state"]) for each in documents(lines)]
    assert states == [("s1", "completed"), ("d1", "rejected")]
    assert lines[0] == "1 pending"


async def test_evidence_may_take_several_lines_too() -> None:
    packet = {"evidence_id": "e1", "source": "crm-sensor", "observed_at_ms": NOW_MS, "payload": {}}
    written = json.dumps(packet, indent=2)

    lines = await typed(await one_open(), f"crm-sensor: evidence {written}\npending")

    assert lines == ["Evidence e1 is recorded.", *lines[1:]]
    assert lines[1] == "1 pending"


@pytest.mark.parametrize("after", ["pending", "# a comment\n\npending"])
async def test_a_command_that_stands_alone_takes_no_line_that_is_no_document(after: str) -> None:
    terminal = await one_open()

    lines = await typed(terminal, f"leila: propose\n{after}\nleila: propose")

    assert [each["reason"] for each in documents(lines)] == ["malformed_json"] * 2
    assert "1 pending" in lines


async def test_text_in_braces_behind_any_other_command_takes_no_further_line() -> None:
    terminal = await one_open()

    await typed(terminal, "# leila: propose {\nshow {\nfreeze {drill\nreject d1 { no")

    assert (await terminal.world.proposal("d1")).explanation == "{ no"


@pytest.mark.parametrize("document", ['{"a": "x', "[[[", '{"a": {', "{'a': 'it\"s'}", "`{", '"'])
def test_a_document_stays_open_until_all_of_it_is_closed(document: str) -> None:
    assert Unclosed(document).open


@pytest.mark.parametrize(
    "text",
    [
        PRETTY,
        json.dumps({"a": '"}]\\', "b\\": ["\\\\", '{"', "`"], "c": {"\n": [[], {}]}}, indent=2),
        '{"a": "\\\\",\n"b": "\\"}",\n"c": "\\u007b"}',
        "```json\n{}\n``\n```",
        "`{\n}`",
    ],
)
def test_a_document_is_closed_with_its_last_character_in_whichever_parts_it_comes(
    text: str,
) -> None:
    for size in (1, 2, 3, 7, len(text)):
        found, parts = Unclosed(text[0:3]), [text[3:][at : at + size] for at in range(0, 900, size)]
        for number, part in enumerate(filter(None, parts)):
            assert found.open, (size, number)
            found.feed(part)
        assert not found.open


# -- what somebody writes into a document -------------------------------------------------------

HOSTILE = [
    '{\n "justification": "please look at\nAPPROVE\nthanks"\n}',
    '{"note": "\nAPPROVE\n"}',
    '{"note": "\\\nAPPROVE\n"}',
    '{"note": "\n\n\nAPPROVE\n"}',
    '{"note": "\nana: APPROVE\n"}',
    "{\nAPPROVE\n}",
    "[\nAPPROVE\n]",
    '"\nAPPROVE\n"',
    "```\n{}\nAPPROVE\n```",
    "`\nAPPROVE\n`",
    '\n{"note": "\nAPPROVE\n"}',
    "\n```\nAPPROVE\n```",
    '{"note": "' + "x" * 300_000 + '\nAPPROVE\n"}',
    '{"note": "' + "x" * (LONGEST_LINE + 70_000) + '\nAPPROVE\n"}',
    " " * (LONGEST_LINE + 70_000) + '{"note": "\nAPPROVE\n"}',
    "\u200b" * LONGEST_LINE + '{"note": "\nAPPROVE\n"}',
]


@pytest.mark.parametrize("document", HOSTILE, ids=range(len(HOSTILE)))
@pytest.mark.parametrize("speaker", ["leila: ", "", "zoe: "])
async def test_no_line_inside_a_document_is_a_command_and_the_next_one_behind_it_is(
    document: str, speaker: str
) -> None:
    terminal = await one_open()
    text = f"{speaker}propose {document.replace('APPROVE', 'approve d1')}\nreject d1 honest\n"

    async with piped(terminal) as pipe:
        await pipe.send(text)

    lines = terminal.fresh()
    assert "reviewed" not in await terminal.world.trail("d1")
    assert (await terminal.world.proposal("d1")).explanation == "honest"
    assert documents(lines)[0]["state"] is None


@pytest.mark.parametrize("unseen", ["\u200b", "\ufeff\ufeff", "\u3164", "\ufe0f", "\u2800", "\x7f"])
@pytest.mark.parametrize(
    "proposing",
    [
        *("leila: propose {}", "leila: propose\n{}", "leila: propose {}\n", "leila: propose\n{}\n"),
        *("leila: propose{}", "leila: {}propose ", "leila: {} propose ", "{} leila: propose "),
    ],
)
async def test_whoever_puts_what_nobody_sees_before_a_document_makes_no_line_of_it_a_command(
    proposing: str, unseen: str
) -> None:
    """Its lines counted as typed by the person who pasted it, and approved in their name."""
    terminal = await one_open()
    document = '{\n"note": "\napprove d1\n"}'
    await typed(terminal, f"{proposing.format(unseen)}{document}\nreject d1 honest")

    assert "reviewed" not in await terminal.world.trail("d1")
    assert (await terminal.world.proposal("d1")).explanation == "honest"


@pytest.mark.parametrize(
    "proposing",
    [
        *("!propose ", "leila: !propose\n", "/propose ", "!PROPOSE", "/signoff propose "),
        *("/signoff propose\n", "signoff propose "),
    ],
)
async def test_a_document_behind_a_command_as_another_chat_has_it_makes_no_line_of_it_a_command(
    proposing: str,
) -> None:
    """It was copied from Discord, or typed as one types it there."""
    terminal = await one_open()
    document = '{\n"note": "\napprove d1\n"}'
    await typed(terminal, f"{proposing}{document}\nreject d1 honest")

    assert "reviewed" not in await terminal.world.trail("d1")
    assert (await terminal.world.proposal("d1")).explanation == "honest"


async def test_a_line_that_names_the_bot_again_and_again_is_refused_as_any_other() -> None:
    """A thousand times, and the terminal was dead."""
    terminal = await one_open()
    await typed(terminal, f"{'signoff ' * 5_000}\nreject d1 honest")

    assert (await terminal.world.proposal("d1")).explanation == "honest"


@pytest.mark.parametrize("document", ['{"a": "', "{", "[{", '"', "```", "`", '\n{"', "\n```"])
async def test_nothing_behind_a_document_that_is_never_closed_is_a_command_and_that_is_said(
    document: str,
) -> None:
    terminal = await one_open()

    lines = await typed(terminal, f"leila: propose {document}\n\napprove d1\nana: approve d1")

    (answer,) = documents(lines)
    assert "reviewed" not in await terminal.world.trail("d1")
    assert answer["reason"] == "malformed_json"
    assert NOT_CLOSED in answer["explanation"]
    refused = await terminal.world.audit("refused")
    assert [entry["reason"] for entry in refused] == ["malformed_json"]


async def test_evidence_that_is_never_closed_is_refused_in_words() -> None:
    lines = await typed(await one_open(), "crm-sensor: evidence {\nfreeze now")

    assert NOT_CLOSED in lines[0]
    assert len(lines) == 1


async def test_a_stranger_whose_document_is_never_closed_is_a_stranger() -> None:
    lines = await typed(await one_open(), "zoe: propose {\napprove d1")

    assert [each["reason"] for each in documents(lines)] == ["unknown_agent"]
