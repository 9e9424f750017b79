"""Cases N on Discord: the list of what waits, floods, what the trail keeps, plain words."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

import pytest

from bot.storage.memory import MemoryStore
from lifecycle.answers import Sender
from lifecycle.proposal import ActorKind
from tests.builders import MAIL, PROD, a_document
from tests.fakes.discord_server.state import CHANNEL
from tests.fakes.discord_stage import (
    ANA,
    BEN,
    CAL,
    CROSS,
    LEILA,
    NOUR,
    TICK,
    DiscordStage,
    until,
)
from tests.roomy import a_roomy_policy

LONGEST = 2_000


def a_mail(subject: str) -> dict[str, Any]:
    return {"parameters": {**MAIL["parameters"], "subject": subject}}


def places(stage: DiscordStage) -> list[str]:
    """Return the ids of all messages in the channel, oldest first."""
    return list(stage.server.state.messages[CHANNEL])


# -- N01 ----------------------------------------------------------------------------------


async def stores(stage: DiscordStage, ids: list[str]) -> None:
    """Store a proposal for each id, a second apart; some have a long title."""
    leila = Sender("discord", ActorKind.AGENT, "leila", account=LEILA)
    for number, proposal_id in enumerate(ids):
        subject = f"Invoice {number} " + "t" * (200 if number % 3 == 0 else 0)
        changes = {"proposal_id": proposal_id, "ts_ms": stage.clock.now_ms()} | a_mail(subject)
        await stage.workflow.submit(json.dumps(a_document(**changes)).encode(), leila)
        stage.clock.advance(1)


async def page_of(stage: DiscordStage, command: str, heading: str) -> str:
    """Type a command; return the message of the bot in which the heading stands."""
    stage.server.says(ANA, command)
    return await until(
        lambda: next((t for t in stage.server.said() if heading in t), None), heading
    )


async def test_N01_every_one_of_sixty_is_reached_page_by_page_in_messages_that_discord_takes(
    discord_unstarted: DiscordStage,
) -> None:
    stage, ids = discord_unstarted, [f"q{number:02}" for number in range(60)]
    stage.policy = a_roomy_policy()
    await stage.begins()
    await stores(stage, ids)

    command, found = "!pending", list[str]()
    for number in range(1, 7):
        page = await page_of(stage, command, f"60 pending, page {number} of 6")
        await stage.quiet()
        found += re.findall(r"^• (q\d\d) ", "\n".join(pages_from(stage, page)), re.MULTILINE)
        more = re.search(r"More: .*?(pending \d)", "\n".join(pages_from(stage, page)))
        assert (more is not None) == (number < 6)
        command = f"!{more[1]}" if more else ""
    assert found == ids
    assert max(map(len, stage.server.said())) <= LONGEST
    assert [call.path for call in stage.server.calls if call.status == 400] == []


def pages_from(stage: DiscordStage, page: str) -> list[str]:
    """Return a page and the messages in which it goes on."""
    said = stage.server.said()
    return said[said.index(page) :]


# -- N03 ----------------------------------------------------------------------------------


def notices(stage: DiscordStage) -> list[str]:
    return [text for text in stage.server.said() if "leila proposes more than it may" in text]


def last_answer(stage: DiscordStage) -> str:
    """Return the id of the newest message in which a proposal is answered."""
    found = stage.server.state.messages[CHANNEL].items()
    return [each for each, message in found if "```json" in message.data["content"]][-1]


async def floods(stage: DiscordStage, numbers: range) -> None:
    """Let leila propose a different mail for each number, in one burst."""
    for number in numbers:
        stage.sends(**a_mail(f"Invoice {number}"))


async def test_N03_a_flood_is_bounded_told_once_and_others_are_heard_meanwhile(
    discord_stage: DiscordStage,
) -> None:
    await floods(discord_stage, range(100))
    await until(lambda: len(discord_stage.answers()) == 100, "answers to the first half")
    await until(lambda: len(discord_stage.server.cards()) == 10, "leila's cards")
    theirs = discord_stage.sends(bot=NOUR)
    await floods(discord_stage, range(100, 200))
    card = await discord_stage.card(theirs)
    await until(lambda: len(discord_stage.answers()) == 201, "every answer")
    await until(lambda: notices(discord_stage), "the notice")
    await discord_stage.quiet()
    await discord_stage.keeps_house()

    refused = [a for a in discord_stage.answers() if a["outcome"] == "deny"]
    assert {a["reason"] for a in refused} <= {"too_many_open", "rate_limited"}
    assert all(a["explanation"] for a in refused)
    assert len(refused) == 190
    assert len(discord_stage.server.cards()) == 11
    assert places(discord_stage).index(card.id) < places(discord_stage).index(
        last_answer(discord_stage)
    )
    (notice,) = notices(discord_stage)
    assert "the rest is refused" in notice


# -- N05 ----------------------------------------------------------------------------------

#: What a person or an agent did, each with a row of its own.
ACTS = ("submitted", "reviewed", "reject", "ignored")


async def a_full_life(stage: DiscordStage) -> None:
    """Let a deployment and a mail be carried out and another rejected; two may not decide."""
    prod, mail = await stage.proposes(PROD), await stage.proposes()
    other = await stage.proposes(PROD, parameters={"version": "v43"})
    for account in (CAL, NOUR):
        stage.server.reacts(account, await stage.card(prod), TICK)
    await stage.ignored("not_a_reviewer", 2)
    stage.server.reacts(ANA, await stage.card(prod), TICK)
    await stage.reaches(prod, "completed")
    stage.server.reacts(BEN, await stage.card(mail), TICK)
    await stage.reaches(mail, "executing")
    stage.server.reacts(BEN, await stage.card(other), CROSS)
    await stage.reaches(other, "rejected")
    await stage.passes(minutes=16)
    await stage.reaches(mail, "completed")


async def rows_of(stage: DiscordStage) -> list[Mapping[str, Any]]:
    rows = await stage.store.read(lambda tx: tx.audit.exported(0, 1_000))
    return [row for row in rows if row["proposal_id"] is not None]


async def test_N05_every_act_names_its_actor_platform_event_and_what_it_was_about(
    discord_stage: DiscordStage,
) -> None:
    await a_full_life(discord_stage)
    rows = [row for row in await rows_of(discord_stage) if row["kind"] in ACTS]
    digests = {
        row["proposal_id"]: (await discord_stage.proposal(row["proposal_id"])).digest
        for row in rows
    }
    told = [(row["kind"], row["proposal_id"], row["actor"]["id"]) for row in rows]
    assert sorted(told) == [
        ("ignored", "p1", "cal"),
        ("ignored", "p1", "nour"),
        ("reject", "p3", "ben"),
        ("reviewed", "p1", "ana"),
        ("reviewed", "p2", "ben"),
        *(("submitted", each, "leila") for each in ("p1", "p2", "p3")),
    ]
    for row in rows:
        assert row["surface"] == "discord"
        assert row["digest"] == digests[row["proposal_id"]]
        assert row["policy_digest"] == discord_stage.policy.digest
    assert len({row["event_id"] for row in rows} - {None}) == len(rows)


async def test_N05_every_move_names_the_state_before_and_the_one_after(
    discord_stage: DiscordStage,
) -> None:
    await a_full_life(discord_stage)
    moves = [row for row in await rows_of(discord_stage) if row["to"]]
    way = {
        each: [(row["from"], row["to"]) for row in moves if row["proposal_id"] == each]
        for each in ("p1", "p2", "p3")
    }
    begins = [(None, "pending"), ("pending", "sentinel_approved")]
    runs = [("sentinel_approved", "executing"), ("executing", "completed")]
    assert way == {
        "p1": begins + runs,
        "p2": begins + runs,
        "p3": [*begins, ("sentinel_approved", "rejected")],
    }
    assert all(row["at"] and row["actor"] and row["digest"] for row in moves)


# -- N06 ----------------------------------------------------------------------------------


async def test_N06_what_cannot_be_done_is_said_in_plain_words_with_the_next_step(
    discord_stage: DiscordStage,
) -> None:
    server = discord_stage.server
    server.says(ANA, "!approve nope")
    unknown = await until(lambda: server.said(), "an answer")
    assert "No proposal has the id" in unknown[0]
    assert "pending" in unknown[0]
    proposal_id = await discord_stage.proposes(PROD)
    for _ in range(2):
        server.says(ANA, f"!reject {proposal_id} no")
    (again,) = await until(lambda: [t for t in server.said() if "Already decided" in t], "told")
    assert "rejected" in again
    assert "Traceback" not in "".join(server.said())


async def test_N06_a_reaction_on_a_card_whose_row_is_gone_decides_nothing_and_breaks_nothing(
    discord_stage: DiscordStage, caplog: pytest.LogCaptureFixture
) -> None:
    card = await discord_stage.card(await discord_stage.proposes(PROD))
    await discord_stage.ends()
    discord_stage.store = MemoryStore()
    await discord_stage.begins()
    caplog.clear()
    for emoji in (TICK, CROSS):
        discord_stage.server.reacts(ANA, card, emoji)
    rows = await discord_stage.ignored("unknown_proposal", 2)
    assert [row["actor"]["id"] for row in rows] == ["ana", "ana"]
    await discord_stage.quiet()
    assert [each for each in caplog.records if each.levelname == "ERROR"] == []
    (told,) = [text for text in discord_stage.server.said() if "not known here" in text]
    assert told.startswith("ana: This card")
    assert "pending" in told
    assert f"message {card.id}, which is no card" in caplog.text
    new = await discord_stage.proposes(PROD)
    discord_stage.server.reacts(ANA, await discord_stage.card(new), TICK)
    await discord_stage.reaches(new, "completed")


async def test_N06_many_cards_whose_rows_are_gone_are_one_note_and_an_answer_is_no_card(
    discord_stage: DiscordStage,
) -> None:
    cards = [
        await discord_stage.card(await discord_stage.proposes(PROD, parameters={"version": each}))
        for each in ("v1", "v2")
    ]
    discord_stage.server.says(ANA, "!pending")
    await until(lambda: any("2 pending" in text for text in discord_stage.server.said()), "answer")
    answer = list(discord_stage.server.state.messages[CHANNEL].values())[-1]
    await discord_stage.ends()
    discord_stage.store = MemoryStore()
    await discord_stage.begins()
    for message in (answer, *cards):
        discord_stage.server.reacts(ANA, message, TICK)
    await discord_stage.ignored("unknown_proposal", 3)
    await discord_stage.quiet()
    told = [text for text in discord_stage.server.said() if "not known here" in text]
    assert len(told) == 1
    pressed = discord_stage.server.clicks(ANA, cards[0], "signoff:approve")
    await until(lambda: "not known here" in pressed.text, "told whoever presses")
