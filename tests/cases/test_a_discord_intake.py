"""Cases A on Discord: how proposals come in there."""

from __future__ import annotations

import json
from typing import Any

import pytest

from bot.chat.discord.commands import command_text
from tests.builders import MAIL, PROD, a_document
from tests.fakes.discord_stage import ANA, LEILA, TICK, DiscordStage, until


def a_mail(proposal_id: str = "p1", **changes: Any) -> str:
    return json.dumps(a_document(MAIL, proposal_id=proposal_id, **changes))


async def answered(stage: DiscordStage, count: int = 1) -> list[dict[str, Any]]:
    return await until(  # type: ignore[no-any-return]
        lambda: found if len(found := stage.answers()) >= count else None, f"{count} answers"
    )


async def test_A01_agent_bots_are_heard_and_nobody_elses(discord_stage: DiscordStage) -> None:
    server = discord_stage.server
    server.says("999", f"!propose {a_mail('p2')}")
    server.webhook_says("77", "leila", f"!propose {a_mail('p3')}")
    server.says("900", f"!propose {a_mail('p4')}")
    server.says(LEILA, f"!propose {a_mail('p1')}")

    answers = await answered(discord_stage, 3)

    assert sorted(str(a["reason"]) for a in answers) == ["None", "unknown_agent", "unknown_agent"]
    await discord_stage.card("p1")
    await discord_stage.quiet()
    stored = await discord_stage.store.read(lambda tx: tx.proposals.waiting(0, 10))
    assert [proposal.proposal_id for proposal in stored] == ["p1"]
    assert len(await discord_stage.audit("refused")) == 2
    assert len(discord_stage.answers()) == 3


async def test_A01_a_webhook_is_nobody_whatever_number_it_has(discord_stage: DiscordStage) -> None:
    server = discord_stage.server
    server.webhook_says(LEILA, "leila", f"!propose {a_mail()}")
    (answer,) = await answered(discord_stage)
    assert (answer["reason"], answer["state"]) == ("unknown_agent", None)
    deploy = await discord_stage.proposes(PROD, proposal_id="p2")
    server.webhook_says(ANA, "ana", f"!approve {deploy}")
    await discord_stage.quiet()

    rows = await discord_stage.audit("refused") + await discord_stage.audit("ignored")
    assert [row["actor"] for row in rows] == [None, None]
    assert [row["details"]["account"] for row in rows] == ["webhook 911", "webhook 1001"]
    assert (await discord_stage.proposal(deploy)).state.value == "sentinel_approved"


@pytest.mark.parametrize("in_a_file", [False, True], ids=["typed", "in a file"])
@pytest.mark.parametrize(
    ("old", "new", "code"),
    [
        ('"p1"', '"p1", "actor": "nour"', "duplicate_key"),
        ('"Hello"', "NaN", "non_finite_number"),
        ('"Hello"', "[" * 500 + "]" * 500, "too_deep"),
        ('"Hello"', "9007199254740993", "out_of_range"),
        ('"p1"', '"p1\\n"', "control_character"),
        ('"approval_class": "none"', '"aproval_class": "dual"', "unknown_field"),
    ],
    ids=["A05", "A06", "A09", "A11", "D07", "A08"],
)
async def test_A05_A06_A08_A09_A11_what_is_refused_is_refused_here_too(
    discord_stage: DiscordStage, old: str, new: str, code: str, in_a_file: bool
) -> None:
    document = a_mail().replace(old, new)
    typed, files = ("", {"mail.json": document.encode()}) if in_a_file else (document, {})
    discord_stage.server.says(LEILA, f"!propose {typed}", files=files)
    (answer,) = await answered(discord_stage)

    assert (answer["reason"], answer["state"]) == (code, None)
    assert discord_stage.server.cards() == []
    discord_stage.server.says(LEILA, f"!propose {a_mail()}")
    assert (await answered(discord_stage, 2))[1]["state"] == "sentinel_approved"


@pytest.mark.parametrize(
    "text",
    [
        "{}",
        "```json\n{}\n```",
        "```\n{}\n```",
    ],
)
@pytest.mark.parametrize("body", ["it’s", 'say "hi', "a b c"])
async def test_A02_quote_marks_are_not_the_librarys(
    discord_stage: DiscordStage, text: str, body: str
) -> None:
    document = a_mail(parameters={**MAIL["parameters"], "body": body})
    discord_stage.server.says(LEILA, f"!propose {text.replace('{}', document)}")
    (answer,) = await answered(discord_stage)
    assert answer["state"] == "sentinel_approved"
    assert (await discord_stage.proposal("p1")).read().parameters["body"] == body


@pytest.mark.parametrize(
    ("text", "column"),
    [
        *(('“{"proposal_id":"p1"}”', 1), ("{“proposal_id”:“p1”}", 2)),
        *(('«{"proposal_id":"p1"}»', 1), ('{"proposal_id":"p1"}”', 21)),
    ],
)
async def test_A03_curly_quotes_are_malformed_and_not_repaired(
    discord_stage: DiscordStage, text: str, column: int
) -> None:
    discord_stage.server.says(LEILA, f"!propose {text}")
    (answer,) = await answered(discord_stage)
    assert (answer["reason"], answer["state"]) == ("malformed_json", None)
    assert [fault["actual"] for fault in answer["errors"]] == [f"line 1, column {column}"]
    assert await discord_stage.store.read(lambda tx: tx.proposals.ids_after("", 10)) == []
    assert len(await discord_stage.audit("refused", "malformed_json")) == 1


async def test_A04_an_empty_message_is_no_empty_proposal(discord_stage: DiscordStage) -> None:
    discord_stage.server.says(LEILA, "")
    await until(lambda: "Message Content Intent" in str(discord_stage.broadcast.health()), "red")
    await discord_stage.quiet()
    assert discord_stage.answers() == []
    discord_stage.server.says(LEILA, f"!propose {a_mail()}")
    await answered(discord_stage)
    assert "Message Content Intent" not in str(discord_stage.broadcast.health())


async def test_A13_a_file_is_read_and_what_is_cut_or_too_large_is_refused(
    discord_stage: DiscordStage,
) -> None:
    server = discord_stage.server
    long = a_mail("p1", parameters={**MAIL["parameters"], "body": "Hello. " * 900})
    server.says(LEILA, "!propose", files={"mail.json": long.encode()})
    await discord_stage.card("p1")

    server.says(LEILA, f"!propose {long[:1900]}")
    assert (await answered(discord_stage, 2))[1]["reason"] == "malformed_json"

    server.says(LEILA, "!propose", files={"mail.json": b" " * 5_000_000})
    assert (await answered(discord_stage, 3))[2]["reason"] == "too_large"
    assert len(server.called("GET", "/files/")) == 1

    server.says(LEILA, f"!propose {a_mail('p2')} {a_mail('p3')}")
    assert (await answered(discord_stage, 4))[3]["reason"] == "malformed_json"
    server.says(LEILA, f"!propose {a_mail('p2')}", files={"mail.json": a_mail("p3").encode()})
    assert (await answered(discord_stage, 5))[4]["reason"] == "malformed_json"


async def test_B11_the_edit_of_a_command_changes_nothing(discord_stage: DiscordStage) -> None:
    server = discord_stage.server
    document = a_document(PROD)
    said = server.says(LEILA, f"!propose {json.dumps(document)}")
    card = await discord_stage.card("p1")
    other = json.dumps({**document, "target": {**document["target"], "domain": "evil.test"}})
    server.edits(said, f"!propose {other}")
    await discord_stage.ignored("duplicate_event")
    server.says(LEILA, f"!propose {other}")
    assert (await answered(discord_stage, 2))[1]["reason"] == "id_conflict"
    server.reacts(ANA, card, TICK)
    await discord_stage.reaches("p1", "completed")
    (call,) = discord_stage.tool("production-deploy").calls
    assert call.target["domain"] == "www.shop.example"


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("!pending", "pending"),
        ("  ! pending 2", " pending 2"),
        ("<@900> pending", " pending"),
        ("<@!900> show p1", " show p1"),
        ("please <@900> pending", "please pending"),
        ("good morning", None),
        ("<@901> pending", None),
    ],
)
def test_a_command_is_what_stands_behind_the_mark_or_the_mention(
    content: str, text: str | None
) -> None:
    assert command_text(content, 900) == text
