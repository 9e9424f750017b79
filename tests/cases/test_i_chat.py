"""Cases I on the platforms: a crash in the middle, repeated signals, a restart between."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import pytest

from tests.builders import MAIL, PROD
from tests.fakes.discord_stage import (
    ANA,
    BEN,
    CAL,
    CROSS,
    DEE,
    OLGA,
    TICK,
    DiscordStage,
    until,
)
from tests.fakes.tools import waiting_for
from tests.slack_stage import eventually, eventually_async, on_slack, shown

DEPLOY = "production-deploy"


async def cut_off(stage: DiscordStage) -> str:
    """Let the process end right after the move to executing; return the proposal's id."""
    stage.tool(DEPLOY).on["execute"] = waiting_for(asyncio.Event())
    proposal_id = await stage.proposes(PROD)
    stage.server.reacts(ANA, await stage.card(proposal_id), TICK)
    await stage.reaches(proposal_id, "executing")
    cut = list(stage.workflow.world.background.tasks)
    for task in cut:
        task.cancel()
    await asyncio.gather(*cut, return_exceptions=True)
    stage.tool(DEPLOY).on.clear()
    await stage.restarts()
    await stage.keeps_house()
    return proposal_id


async def test_I10_what_a_crash_cut_off_is_shown_as_unknown_and_a_reviewer_settles_it(
    discord_stage: DiscordStage,
) -> None:
    proposal_id = await cut_off(discord_stage)

    async def shown() -> bool:
        card = await discord_stage.card(proposal_id)
        return "outcome_unknown" in str(card.data["embeds"])

    await until(shown, "the card says so")
    discord_stage.server.says(CAL, f"!settle {proposal_id} happened")
    await discord_stage.ignored("not_a_reviewer")
    discord_stage.server.says(BEN, f"!settle {proposal_id} happened")
    await discord_stage.reaches(proposal_id, "completed")

    assert discord_stage.tool(DEPLOY).verbs() == ["execute"]


async def test_I10_or_retries_it_under_a_key_of_its_own(discord_stage: DiscordStage) -> None:
    proposal_id = await cut_off(discord_stage)

    discord_stage.server.says(BEN, f"!retry {proposal_id}")
    await discord_stage.reaches(proposal_id, "completed")

    keys = [call.idempotency_key for call in discord_stage.tool(DEPLOY).calls]
    assert keys == [f"{proposal_id}:execute:1", f"{proposal_id}:execute:2"]


async def test_I01_of_two_check_marks_at_once_one_begins_it_and_the_other_is_told_who(
    discord_stage: DiscordStage,
) -> None:
    gate = asyncio.Event()
    discord_stage.tool(DEPLOY).on["execute"] = waiting_for(gate)
    proposal_id = await discord_stage.proposes(PROD)
    card = await discord_stage.card(proposal_id)

    discord_stage.server.reacts(ANA, card, TICK)
    discord_stage.server.reacts(BEN, card, TICK)
    await discord_stage.ignored("already_decided")
    gate.set()
    await discord_stage.reaches(proposal_id, "completed")
    await until(lambda: notes_to(discord_stage, "ben"), "ben's note")

    assert discord_stage.tool(DEPLOY).verbs() == ["execute"]
    assert notes_to(discord_stage, "ben") == [
        f"ben: {proposal_id} is executing already, opened by person ana; nothing was changed."
    ]


async def test_I06_late_clicks_get_a_friendly_answer_and_no_traceback(
    discord_stage: DiscordStage, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    proposal_id = await discord_stage.proposes(PROD)
    discord_stage.server.reacts(ANA, await discord_stage.card(proposal_id), TICK)
    done = await discord_stage.reaches(proposal_id, "completed")
    target = PROD["target"] | {"resource_id": "other"}
    other = await discord_stage.proposes(PROD, target=target)
    card = await discord_stage.card(other)
    discord_stage.server.reacts(ANA, card, CROSS)
    refused = await discord_stage.reaches(other, "rejected")

    discord_stage.server.says(BEN, f"!approve {proposal_id}")
    discord_stage.server.reacts(BEN, card, CROSS)
    await discord_stage.ignored("already_decided", 2)
    await discord_stage.quiet()

    said = discord_stage.server.said()
    assert [text for text in said if "Already decided: completed (tool_succeeded)" in text]
    (note,) = notes_to(discord_stage, "ben")
    assert "Already decided: rejected (rejected_by_person) by person ana" in note
    assert await discord_stage.proposal(proposal_id) == done
    assert await discord_stage.proposal(other) == refused
    assert caplog.records == []


def notes_to(stage: DiscordStage, person: str) -> list[str]:
    """Return the short notes that a person got in the channel."""
    return [text for text in stage.server.said() if text.startswith(f"{person}:")]


ENDS = [
    (PROD, ["✅"], "completed"),
    (PROD, ["❌"], "rejected"),
    (MAIL, ["✅", "❌"], "rolled_back"),
]


@pytest.mark.parametrize(("base", "emoji", "end"), ENDS, ids=[end for *_, end in ENDS])
async def test_I09_signals_on_an_end_are_one_note_a_person_on_discord(
    discord_stage: DiscordStage, base: dict[str, Any], emoji: list[str], end: str
) -> None:
    proposal_id = await discord_stage.proposes(base)
    card = await discord_stage.card(proposal_id)
    for each in emoji:
        discord_stage.server.reacts(OLGA if each == CROSS else DEE, card, each)
        await discord_stage.quiet()
    ended = await discord_stage.reaches(proposal_id, end)

    for each in (TICK, CROSS, TICK, CROSS, TICK):
        for account in (ANA, BEN):
            discord_stage.server.reacts(account, card, each)
            discord_stage.server.unreacts(account, card, each)
    await discord_stage.ignored(TOO_LATE[end], 4)
    await discord_stage.quiet()

    assert [len(notes_to(discord_stage, person)) for person in ("ana", "ben")] == [1, 1]
    assert await discord_stage.proposal(proposal_id) == ended


#: What a ❌ is refused with.
TOO_LATE = {
    "completed": "window_closed",
    "rejected": "already_decided",
    "rolled_back": "already_decided",
}


@pytest.mark.parametrize(("base", "emoji", "end"), ENDS, ids=[end for *_, end in ENDS])
async def test_I09_signals_on_an_end_are_one_note_a_person_on_slack(
    base: dict[str, Any], emoji: list[str], end: str
) -> None:
    async with on_slack() as slack:
        card = await slack.proposes(base)
        for each in emoji:
            name = {TICK: "white_check_mark", CROSS: "x"}[each]
            await slack.server.reacts("UANA", card.ts, name)
            await slack.settles()
        await slack.stands("p1", end)
        ended = await slack.world.proposal("p1")

        for name in ("white_check_mark", "x", "white_check_mark", "x", "white_check_mark"):
            for user in ("UANA", "UBEN"):
                await slack.server.reacts(user, card.ts, name)
                await slack.server.unreacts(user, card.ts, name)
        await slack.settles()

        told = [note["user"] for note in slack.server.workspace.ephemeral]
        assert sorted(told) == ["UANA", "UBEN"]
        assert await slack.world.proposal("p1") == ended


@pytest.mark.parametrize(
    ("name", "end"), [("white_check_mark", "completed"), ("x", "rejected")], ids=["tick", "cross"]
)
async def test_I11_a_decision_counts_on_slack_although_the_answer_to_the_post_is_lost(
    name: str, end: str
) -> None:
    async with on_slack() as slack:
        slack.server.fails("chat.postMessage", "lost_answer", holding="unverified")
        await slack.server.proposes("ULEILA", slack.document(PROD, proposal_id="p1"))
        card = await eventually(lambda: next(iter(slack.cards("p1")), None), "a card")

        await slack.server.reacts("UANA", card.ts, name)

        async def ended() -> bool:
            slack.world.clock.advance(1)
            slack.hearing.alive()
            slack.broadcast.nudge()
            await slack.broadcast.catch_up()  # it may have come before the card was written down
            await slack.world.workflow.open_ready()
            return end in shown(card)

        await eventually_async(ended, end)
        assert (await slack.world.proposal("p1")).state.value == end
        assert len(slack.cards("p1")) == 1
        assert slack.world.tool(DEPLOY).verbs() == (["execute"] if end == "completed" else [])


async def test_I12_I13_decisions_and_windows_survive_restarts_on_slack() -> None:
    async with on_slack() as slack:
        parameters = {"to": "pat@partner.example", "body": "Hello"}
        cards = [
            await slack.proposes(parameters=parameters | {"subject": f"Invoice {number}"})
            for number in range(3)
        ]
        await slack.restarts()
        await slack.server.reacts("UANA", cards[1].ts)
        await slack.server.reacts("UANA", cards[2].ts, "x")
        await slack.stands("p2", "executing")
        await slack.stands("p3", "rejected")
        await slack.restarts()
        slack.world.clock.advance(900)
        await slack.broadcast.catch_up()
        await slack.world.workflow.close_due()
        await slack.stands("p2", "completed")
        assert (await slack.world.proposal("p1")).state.value == "sentinel_approved"
        assert [len(slack.cards(name)) for name in ("p1", "p2", "p3")] == [1, 1, 1]
