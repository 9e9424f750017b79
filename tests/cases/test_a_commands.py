"""Cases A: how a proposal gets from what was typed to the JSON parser."""

from __future__ import annotations

import json

import pytest

from bot.chat.commands.replies import Attached
from bot.chat.commands.typed import document_bytes, typed
from lifecycle.answers import Sender
from lifecycle.errors import Refused
from lifecycle.proposal import ActorKind
from tests.builders import MAIL, a_document
from tests.terminal import Terminal, a_terminal, documents

LEILA = Sender("terminal", ActorKind.AGENT, "leila", account="leila")


async def raw_of(text: str, *attached: Attached) -> bytes:
    command = typed(text)
    assert command.word == "propose"
    return await document_bytes(command.rest, attached)


def a_file(content: bytes, name: str = "mail.json", size: int | None = None) -> Attached:
    async def fetch() -> bytes:
        return content

    return Attached(name, len(content) if size is None else size, fetch)


@pytest.mark.parametrize(
    ("text", "raw"),
    [
        ('propose {"a":"b c"}', '{"a":"b c"}'),
        ('propose ```json\n{"a":"b c"}\n```', '{"a":"b c"}\n'),
        ('propose\n```\n{"a":"b c"}\n```', '{"a":"b c"}\n'),
        ('propose `{"a":"b c"}`', '{"a":"b c"}'),
        ('propose {"a":"it’s"}', '{"a":"it’s"}'),
        (r'propose {"a":"say \"hi"}', r'{"a":"say \"hi"}'),
        ('propose{"a":1}', '{"a":1}'),
        ('PROPOSE {"a":"``` not a fence"}', '{"a":"``` not a fence"}'),
        ("propose “{}”", "“{}”"),
    ],
)
async def test_A02_the_rest_of_the_message_reaches_the_parser_unchanged(
    text: str, raw: str
) -> None:
    assert await raw_of(text) == raw.encode()


@pytest.mark.parametrize("value", ["b c", "it’s", 'say "hi'])
async def test_A02_each_is_judged_on_the_schema_alone_and_answered(value: str) -> None:
    terminal = a_terminal()
    answer = documents(await terminal.types("leila: propose " + json.dumps({"a": value})))[0]

    assert answer["state"] is None
    assert answer["reason"] == "unknown_kind"


async def submitted(terminal: Terminal, text: str, *attached: Attached) -> dict:
    reply = await terminal.commands.run(text, LEILA, attached)
    assert reply.document is not None
    return dict(reply.document)


async def test_A13_1_a_mail_of_six_kilobytes_comes_as_a_file() -> None:
    terminal = a_terminal()
    parameters = MAIL["parameters"] | {"body": "word " * 1200}
    content = json.dumps(a_document(MAIL, parameters=parameters)).encode()

    answer = await submitted(terminal, "propose", a_file(content))
    assert answer["state"] == "sentinel_approved"


async def test_A13_2_a_cut_document_is_malformed_and_never_completed() -> None:
    parameters = MAIL["parameters"] | {"body": "word " * 1200}
    content = json.dumps(a_document(MAIL, parameters=parameters))

    answer = await submitted(a_terminal(), f"propose {content[:2000]}")
    assert answer["reason"] == "malformed_json"
    assert answer["proposal_id"] is None


async def test_A13_3_a_file_of_five_megabytes_is_refused_before_it_is_fetched() -> None:
    async def never() -> bytes:
        raise AssertionError("fetched")

    answer = await submitted(a_terminal(), "propose", Attached("big.json", 5_000_000, never))
    assert answer["reason"] == "too_large"
    assert answer["retry"] == "after_change"


async def test_A13_3_a_file_larger_than_announced_is_refused_too() -> None:
    with pytest.raises(Refused) as refused:
        await raw_of("propose", a_file(b" " * 300_000, size=10))
    assert refused.value.code == "too_large"


@pytest.mark.parametrize(
    ("text", "files"),
    [
        ("propose {MAIL} {MAIL}", 0),
        ("propose {MAIL}", 1),
        ("propose", 2),
        ("propose ```json\n{MAIL}\n``` {MAIL}", 0),
    ],
)
async def test_A13_4_two_objects_in_one_command_are_one_too_many(text: str, files: int) -> None:
    mail = json.dumps(MAIL)
    attached = [a_file(mail.encode()) for _ in range(files)]

    answer = await submitted(a_terminal(), text.replace("{MAIL}", mail), *attached)
    assert answer["reason"] == "malformed_json"


async def test_a_stranger_is_refused_before_a_file_is_fetched() -> None:
    async def never() -> bytes:
        raise AssertionError("fetched")

    stranger = Sender("terminal", None, None, account="999")
    reply = await a_terminal().commands.run("propose", stranger, [Attached("m.json", 10, never)])
    assert reply.code == "unknown_agent"


async def test_a_file_of_another_kind_is_no_proposal() -> None:
    answer = await submitted(a_terminal(), "propose", a_file(b"MZ", "mail.exe"))
    assert answer["reason"] == "malformed_json"
    assert ".json" in answer["explanation"]


async def test_A03_curly_quotes_are_malformed_with_their_column() -> None:
    terminal = a_terminal()
    for text in ('“{"proposal_id":"p1"}”', "{“proposal_id”:“p1”}"):
        answer = await submitted(terminal, f"propose {text}")
        assert answer["reason"] == "malformed_json"
        assert "column" in answer["errors"][0]["actual"]
