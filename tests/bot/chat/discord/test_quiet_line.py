"""A line on which nobody speaks is asked for a sign of life, and one that sees nothing is deaf."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from tests.bot.chat.discord.cards import in_window, read_again
from tests.builders import MAIL, PROD
from tests.fakes.discord_server.state import BOT, BOT_ROLE, CHANNEL, GUILD, NORMAL, Message
from tests.fakes.discord_stage import ANA, BEN, CROSS, TICK, DiscordStage, until
from tests.roomy import a_roomy_policy

WINDOW_S = 900
READS = "/messages/\\d+$"
VIEW = 10


def beats(stage: DiscordStage) -> int:
    return sum(each.heartbeats for each in stage.server.gateway.sockets)


def readings(stage: DiscordStage) -> int:
    return len(stage.server.called("GET", READS))


def unheard(card: Message, person: str, emoji: str) -> None:
    """Put somebody's emoji there without a word to the bot."""
    card.reactions.setdefault(emoji, ([], []))[NORMAL].append(person)


async def windows(stage: DiscordStage, count: int) -> list[str]:
    """Let so many mails be approved, so that their windows end together."""
    ids = []
    for number in range(count):
        parameters = {**MAIL["parameters"], "subject": f"Invoice {number}"}
        ids.append(await stage.proposes(parameters=parameters))
        stage.server.reacts(ANA, await stage.card(ids[-1]), TICK)
    for each in ids:
        await stage.reaches(each, "executing")
        await stage.card(each)
    await stage.quiet()
    return ids


async def states(stage: DiscordStage, ids: list[str]) -> set[str]:
    return {(await stage.proposal(each)).state.value for each in ids}


async def test_windows_that_end_together_on_a_quiet_line_cost_one_heartbeat_and_no_reading(
    stage: DiscordStage, caplog: pytest.LogCaptureFixture
) -> None:
    ids = await windows(stage, 6)
    await stage.surface.sign_of_life()  # no answer to this one answers the next question
    beats_before, readings_before = beats(stage), readings(stage)
    stage.clock.advance(WINDOW_S + 1)
    await stage.workflow.close_due()
    await stage.workflow.idle()
    assert await states(stage, ids) == {"completed"}
    assert (beats(stage) - beats_before, readings(stage) - readings_before) == (1, 0)
    assert "Can't keep up" not in caplog.text, "the library knows of the heartbeat"


async def test_a_line_that_gives_no_sign_of_life_is_asked_once_and_every_card_is_read(
    stage: DiscordStage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bot.chat.discord.pulse._ANSWERED_S", 0.05)
    ids = await windows(stage, 3)
    last = await stage.card(ids[-1])
    stage.server.gateway.answers_heartbeats = False
    beats_before, readings_before = beats(stage), readings(stage)
    unheard(last, BEN, CROSS)
    stage.clock.advance(WINDOW_S + 1)
    await stage.workflow.close_due()
    await stage.workflow.idle()
    assert [(await stage.proposal(each)).state.value for each in ids] == [
        *("completed", "completed"),
        "rolled_back",
    ]
    assert (beats(stage) - beats_before, readings(stage) - readings_before) == (1, 3)


async def test_a_line_that_died_some_seconds_ago_is_no_proof_that_nothing_was_said(
    stage: DiscordStage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bot.chat.discord.pulse._ANSWERED_S", 0.05)
    proposal_id, card = await in_window(stage)
    stage.clock.advance(WINDOW_S - 3)
    stage.surface.hearing.alive()
    stage.server.gateway.answers_heartbeats = False  # nothing comes from here on
    unheard(card, BEN, CROSS)
    stage.clock.advance(4)
    await stage.workflow.close_due()
    await stage.workflow.idle()
    assert (await stage.proposal(proposal_id)).state.value == "rolled_back"


async def test_on_a_lively_line_windows_that_end_cost_nothing(stage: DiscordStage) -> None:
    ids = await windows(stage, 3)
    stage.clock.advance(WINDOW_S + 1)
    stage.surface.hearing.alive()
    beats_before, readings_before = beats(stage), readings(stage)
    stage.clock.advance(1)
    await stage.workflow.close_due()
    await stage.workflow.idle()
    assert await states(stage, ids) == {"completed"}
    assert (beats(stage), readings(stage)) == (beats_before, readings_before)


async def test_what_came_before_the_sign_of_life_is_heard_before_the_window_closes(
    stage: DiscordStage,
) -> None:
    proposal_id, card = await in_window(stage)
    stage.clock.advance(WINDOW_S + 1)
    stage.server.reacts(BEN, card, CROSS)  # sent, and not read by the client yet
    await stage.workflow.close_due()
    await stage.quiet()
    assert (await stage.proposal(proposal_id)).state.value == "rolled_back"


async def test_no_card_is_read_because_answers_to_proposals_wait_to_be_posted(
    stage: DiscordStage,
) -> None:
    proposal_id, _ = await in_window(stage)
    gate = asyncio.Event()
    held = stage.server.fails("POST", "/messages$", gate=gate, times=None)
    asked = stage.sends(PROD)
    await until(lambda: held.seen, "an answer waits")
    assert (await stage.proposal(asked)).verdict is not None
    before = readings(stage)
    stage.clock.advance(WINDOW_S + 1)
    stage.surface.hearing.alive()
    await stage.workflow.close_due()
    await stage.workflow.idle()
    assert readings(stage) == before
    assert (await stage.proposal(proposal_id)).state.value == "completed"
    held.times = 0
    gate.set()


# -- a connection that stands and brings nothing ------------------------------------------------


def kicked(stage: DiscordStage) -> None:
    stage.server.state.members[GUILD].pop(BOT)
    stage.server.forbid(VIEW)
    stage.server.gateway.dispatch("GUILD_DELETE", {"id": GUILD})


def role_taken(stage: DiscordStage) -> None:
    stage.server.forbid(VIEW)
    for role in (BOT_ROLE, GUILD):
        changed = {"guild_id": GUILD, "role": stage.server.state.roles[role]}
        stage.server.gateway.dispatch("GUILD_ROLE_UPDATE", changed)


def hidden_from(stage: DiscordStage) -> None:
    stage.server.forbid(VIEW)
    overwrite = {"id": BOT, "type": 1, "allow": "0", "deny": str(1 << VIEW)}
    channel = stage.server.state.channels[CHANNEL] | {"permission_overwrites": [overwrite]}
    stage.server.gateway.dispatch("CHANNEL_UPDATE", channel)


def unavailable(stage: DiscordStage) -> None:
    stage.server.forbid(VIEW)
    stage.server.gateway.dispatch("GUILD_DELETE", {"id": GUILD, "unavailable": True})


def deleted(stage: DiscordStage) -> None:
    stage.server.forbid(VIEW)
    stage.server.gateway.dispatch("CHANNEL_DELETE", stage.server.state.channels[CHANNEL])


@pytest.mark.parametrize("gone", [kicked, role_taken, hidden_from, unavailable, deleted])
async def test_a_window_stays_open_where_the_bot_sees_nothing_of_its_channel_any_more(
    stage: DiscordStage, gone: Callable[[DiscordStage], None]
) -> None:
    proposal_id, card = await in_window(stage)
    before = {role: each["permissions"] for role, each in stage.server.state.roles.items()}
    gone(stage)
    await until(stage._all_heard, "heard")
    unheard(card, BEN, CROSS)
    stage.clock.advance(WINDOW_S + 60)
    stage.surface.hearing.alive()  # the connection itself lives
    await stage.keeps_house()
    assert (await stage.proposal(proposal_id)).state.value == "executing"
    assert "BLIND" in stage.broadcast.health()[0]
    assert stage.surface.trouble() is not None

    stage.server.state.join(BOT, [BOT_ROLE])
    for role, permissions in before.items():
        stage.server.state.roles[role]["permissions"] = permissions
    stage.server.gateway.dispatch("GUILD_CREATE", stage.server.state.guild_json())
    await until(lambda: not stage.surface.hearing.gap, "caught up")
    ended = await stage.reaches(proposal_id, "rolled_back")
    assert ended.reason == "rolled_back_by_person"
    assert stage.surface.trouble() is None


async def test_a_card_that_could_not_be_read_is_read_before_its_window_closes(
    stage: DiscordStage,
) -> None:
    """Where events stop coming without a word, the reading of every three minutes notices it."""
    proposal_id, card = await in_window(stage)
    refused = stage.server.fails("GET", READS, status=403, code=50001, times=None)
    await read_again(stage)
    unheard(card, BEN, CROSS)
    stage.clock.advance(WINDOW_S)
    stage.surface.hearing.alive()
    await stage.keeps_house()
    assert (await stage.proposal(proposal_id)).state.value == "executing"
    refused.times = 0
    stage.clock.advance(60)
    stage.surface.hearing.alive()
    await stage.keeps_house()
    await stage.workflow.idle()
    assert (await stage.proposal(proposal_id)).state.value == "rolled_back"


async def test_one_card_that_cannot_be_read_after_a_gap_has_no_other_read_again_and_again(
    unstarted: DiscordStage,
) -> None:
    stage = unstarted
    stage.policy = a_roomy_policy()
    await stage.begins()
    ids = [await stage.proposes(PROD, parameters={"version": f"v{number}"}) for number in range(3)]
    broken = await stage.card(ids[1])
    await stage.quiet()
    await stage.ends()
    refused = stage.server.fails("GET", f"/messages/{broken.id}$", status=503, times=None)
    before = readings(stage)
    await stage.begins(connected=False)
    await until(lambda: stage.surface.hearing.connected, "connected")
    for _ in range(10):
        await stage.quiet()
        stage.clock.advance(1)
        await stage.broadcast.catch_up()
    others = readings(stage) - before - refused.seen
    assert others <= 4
    assert refused.seen < 8, "after a while it is asked for less often"
    refused.times = 0
    stage.clock.advance(60)
    stage.surface.hearing.alive()
    await stage.broadcast.catch_up()
    assert not stage.surface.hearing.gap
