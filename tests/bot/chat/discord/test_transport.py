"""What Discord and the network do to a bot: nothing is lost, nothing is done twice."""

from __future__ import annotations

import asyncio
import threading

import pytest

from bot.expected import StartFailed
from tests.builders import PROD
from tests.fakes.discord_server.gateway import CONTENT
from tests.fakes.discord_stage import ANA, BEN, CAL, CROSS, TICK, DiscordStage, until

DUAL = {"approval_class": "dual"}
#: What the bot must know of its server, in a form that discord.py stumbles over.
UNREADABLE = ("GUILD_ROLE_UPDATE", {"guild_id": "700"})


async def test_a_connection_that_is_cut_is_resumed_with_what_was_missed(
    stage: DiscordStage,
) -> None:
    proposal_id = await stage.proposes(PROD)
    gateway, card = stage.server.gateway, await stage.card(proposal_id)
    gateway.accepts = False
    gateway.cut()
    await until(lambda: not gateway.sockets, "cut")
    stage.server.reacts(ANA, card, TICK)
    gateway.accepts = True
    await stage.reaches(proposal_id, "completed")
    assert gateway.resumed == 1
    assert [review.found_late for review in await stage.reviews(proposal_id)] == [False]
    assert not stage.surface.hearing.gap


@pytest.mark.parametrize("way", ["op7", "op9", "close 4009", "close 1000", "close 4000"])
async def test_every_way_to_be_sent_away_ends_in_a_resume(stage: DiscordStage, way: str) -> None:
    proposal_id = await stage.proposes(PROD)
    match way.split():
        case ["op7"]:
            stage.server.gateway.send_op(7)
        case ["op9"]:
            stage.server.gateway.send_op(9, True)
        case [_, code]:
            await stage.server.gateway.close(int(code))
    stage.server.reacts(ANA, await stage.card(proposal_id), TICK)
    await stage.reaches(proposal_id, "completed")
    await until(lambda: stage.server.gateway.resumed, "resumed")
    assert stage.server.gateway.identified == 1


@pytest.mark.usefixtures("identified_at_once")
async def test_a_session_that_was_forgotten_is_read_from_the_cards(stage: DiscordStage) -> None:
    proposal_id = await stage.proposes(PROD)
    card = await stage.card(proposal_id)
    gateway = stage.server.gateway
    gateway.forgets_sessions, gateway.accepts = True, False
    gateway.cut()
    await until(lambda: not gateway.sockets, "cut")
    stage.server.reacts(ANA, card, TICK)
    gateway.sessions.clear()
    gateway.accepts = True
    await stage.reaches(proposal_id, "completed")
    assert [review.found_late for review in await stage.reviews(proposal_id)] == [True]
    await until(lambda: gateway.identified == 2, "identified again")


async def test_a_bot_that_stops_while_it_waits_to_identify_leaves_no_heart_beating(
    unstarted: DiscordStage,
) -> None:
    stage, gateway = unstarted, unstarted.server.gateway
    await stage.begins()
    before = set(gateway.sockets)
    gateway.send_op(9, False)
    await until(lambda: gateway.sockets - before and hearts(), "a new connection, not identified")
    await stage.ends()
    assert gateway.identified == 1
    await until(lambda: not hearts(), "silence", 5)


def hearts() -> list[threading.Thread]:
    return [each for each in threading.enumerate() if each.name.startswith("keep-alive")]


async def test_an_authentication_that_is_refused_means_a_fresh_client(stage: DiscordStage) -> None:
    proposal_id = await stage.proposes(PROD)
    first = stage.surface.supervisor.client
    await stage.server.gateway.close(4004)
    await until(lambda: stage.surface.supervisor.client not in (None, first), "a fresh client")
    stage.server.reacts(ANA, await stage.card(proposal_id), TICK)
    await stage.reaches(proposal_id, "completed")


async def test_a_first_connection_that_is_refused_is_tried_again(unstarted: DiscordStage) -> None:
    unstarted.server.gateway.accepts = False
    await unstarted.begins(connected=False)
    await until(lambda: unstarted.server.called("GET", "/users/@me"), "logged in")
    assert "DOWN" in unstarted.broadcast.health()[0]
    unstarted.server.gateway.accepts = True
    await unstarted.hears()


async def test_an_event_that_cannot_be_read_ends_no_more_than_one_client(
    stage: DiscordStage, caplog: pytest.LogCaptureFixture
) -> None:
    proposal_id = await stage.proposes(PROD)
    first = stage.surface.supervisor.client
    stage.server.gateway.dispatch(*UNREADABLE)
    await until(lambda: stage.surface.supervisor.client not in (None, first), "a fresh client")
    stage.server.reacts(ANA, await stage.card(proposal_id), TICK)
    await stage.reaches(proposal_id, "completed")


async def test_a_heart_that_stopped_is_seen_and_the_connection_made_anew(
    unstarted: DiscordStage,
) -> None:
    unstarted.heartbeat_s = 0.5
    unstarted.server.gateway.heartbeat_interval_ms = 100
    await unstarted.begins()
    proposal_id = await unstarted.proposes(PROD)
    unstarted.server.gateway.answers_heartbeats = False
    before = unstarted.server.gateway.resumed + unstarted.server.gateway.identified
    gateway = unstarted.server.gateway
    await until(lambda: gateway.resumed + gateway.identified > before, "connected anew")
    unstarted.server.gateway.answers_heartbeats = True
    unstarted.server.reacts(ANA, await unstarted.card(proposal_id), TICK)
    await unstarted.reaches(proposal_id, "completed")


async def test_silence_turns_the_status_red(stage: DiscordStage) -> None:
    stage.clock.advance(61)
    assert "DEAF" in stage.broadcast.health()[0]


async def test_a_wrong_token_is_fatal_and_named(unstarted: DiscordStage) -> None:
    unstarted.server.token = "another"
    unstarted.server.gateway.token = "another"
    settings_token = "a.wrong.token"
    unstarted.server.token = settings_token
    await unstarted.begins(connected=False)
    unstarted.server.token = "another"
    with pytest.raises(StartFailed, match="DISCORD_TOKEN") as told:
        await unstarted.serving
    assert settings_token not in str(told.value)
    unstarted.serving = asyncio.create_task(asyncio.sleep(0))


async def test_a_missing_content_intent_is_fatal_and_named(unstarted: DiscordStage) -> None:
    unstarted.server.gateway.allowed_intents = ~CONTENT
    await unstarted.begins(connected=False)
    with pytest.raises(StartFailed, match="Message Content Intent"):
        await unstarted.serving
    unstarted.serving = asyncio.create_task(asyncio.sleep(0))


async def test_a_missing_permission_is_named_with_the_remedy(unstarted: DiscordStage) -> None:
    unstarted.server.forbid(6, 13)
    await unstarted.begins()
    lines = await until(lambda: unstarted.surface.problems, "problems")
    assert any("Add Reactions" in line for line in lines)
    assert any("Manage Messages" in line for line in lines)
    assert not any("Embed Links" in line for line in lines)


async def test_a_server_without_the_bot_is_named_with_an_invitation(
    unstarted: DiscordStage,
) -> None:
    unstarted.server.state.members["700"].pop("900")
    await unstarted.begins()
    lines = await until(lambda: unstarted.surface.problems, "problems")
    assert "https://discord.com/oauth2/authorize" in lines[0]


async def test_decisions_made_while_the_bot_was_away_are_found_once(stage: DiscordStage) -> None:
    proposal_id = await stage.proposes(PROD)
    card = await stage.card(proposal_id)
    await stage.ends()
    stage.server.reacts(ANA, card, TICK)
    stage.server.reacts(CAL, card, CROSS)
    await stage.begins()
    await stage.reaches(proposal_id, "completed")
    assert [review.found_late for review in await stage.reviews(proposal_id)] == [True]
    assert len(await stage.audit("ignored", "not_a_reviewer")) == 1
    await stage.restarts()
    assert len(await stage.audit("ignored", "not_a_reviewer")) == 1


async def test_a_tick_that_is_gone_after_an_absence_was_taken_back(stage: DiscordStage) -> None:
    proposal_id = await stage.proposes(PROD, **DUAL)
    card = await stage.card(proposal_id)
    await until(lambda: card.who(CROSS) == ["900"], "seeds")
    stage.server.reacts(ANA, card, TICK)
    await until(lambda: stage.reviews(proposal_id), "a review")
    await stage.ends()
    stage.server.unreacts(ANA, card, TICK)
    stage.clock.advance(60)
    await stage.begins()
    assert [review.counts for review in await stage.reviews(proposal_id)] == [False]


async def test_nothing_is_concluded_where_the_seeds_are_gone_too(stage: DiscordStage) -> None:
    proposal_id = await stage.proposes(PROD, **DUAL)
    card = await stage.card(proposal_id)
    await until(lambda: card.who(CROSS) == ["900"], "seeds")
    stage.server.reacts(ANA, card, TICK)
    await until(lambda: stage.reviews(proposal_id), "a review")
    await stage.ends()
    card.reactions.clear()
    await stage.begins()
    assert [review.counts for review in await stage.reviews(proposal_id)] == [True]


async def test_more_than_a_hundred_people_under_an_emoji_are_all_read(
    stage: DiscordStage,
) -> None:
    proposal_id = await stage.proposes(PROD)
    card = await stage.card(proposal_id)
    await stage.ends()
    for number in range(250):
        user = str(2_000 + number)
        stage.server.state.users[user] = stage.server.state.users[CAL] | {"id": user}
        card.reactions.setdefault(TICK, ([], []))[0].append(user)
    stage.server.state.users["99999"] = stage.server.state.users[BEN] | {"id": "99999"}
    card.reactions[TICK][1].append(BEN)
    await stage.begins()
    await stage.reaches(proposal_id, "completed")
    assert [review.person for review in await stage.reviews(proposal_id)] == ["ben"]


async def test_a_window_stays_open_while_its_card_cannot_be_read(stage: DiscordStage) -> None:
    proposal_id = await stage.proposes()
    stage.server.reacts(ANA, await stage.card(proposal_id), TICK)
    await stage.reaches(proposal_id, "executing")
    await stage.server.stop()
    await until(lambda: not stage.surface.hearing.connected, "lost")
    await stage.passes(minutes=16)
    assert (await stage.proposal(proposal_id)).state.value == "executing"


async def test_a_cross_made_while_the_bot_was_down_beats_the_window(stage: DiscordStage) -> None:
    proposal_id = await stage.proposes()
    card = await stage.card(proposal_id)
    stage.server.reacts(ANA, card, TICK)
    await stage.reaches(proposal_id, "executing")
    await stage.ends()
    stage.server.reacts(BEN, card, CROSS)
    stage.clock.advance(16 * 60)
    await stage.begins()
    await stage.keeps_house()
    assert (await stage.reaches(proposal_id, "rolled_back")).reason == "rolled_back_by_person"


async def test_a_deaf_client_that_nobody_bids_goodbye_is_replaced_and_closed(
    unstarted: DiscordStage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bot.chat.discord.client._LOOK_S", 0.1)
    monkeypatch.setattr("bot.chat.discord.client._PATIENCE_S", 1.0)
    monkeypatch.setattr("bot.chat.discord.leaving._GOODBYE_S", 0.2)
    unstarted.server.gateway.answers_goodbyes = False
    await unstarted.begins()
    supervisor = unstarted.surface.supervisor
    first = supervisor.client
    assert first is not None

    def replaced() -> bool:
        if supervisor.client is first:
            unstarted.clock.advance(61)
        return supervisor.client not in (None, first)

    await until(replaced, "a fresh client")
    await unstarted.hears()
    assert not unstarted.serving.done()
    assert first.http.connector.closed


async def test_clients_that_connect_and_end_again_are_begun_less_and_less_often(
    unstarted: DiscordStage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever identifies a thousand times a day loses the token."""
    for name, seconds in (("LOOK", 0.01), ("SPARING_PAUSE", 0.3)):
        monkeypatch.setattr(f"bot.chat.discord.client._{name}_S", seconds)
    await unstarted.begins()
    supervisor, gateway = unstarted.surface.supervisor, unstarted.server.gateway
    supervisor.pause_s, pauses = 0.02, list[float]()
    for life in range(1, 7):
        await until(lambda: gateway.identified == life, "identified")  # noqa: B023
        await until(lambda: supervisor._stood_s, "seen connected")
        pauses.append(supervisor.pause_s)
        gateway.dispatch(*UNREADABLE)
    assert pauses == [0.02, 0.04, 0.08, 0.16, 0.3, 0.3]
    monkeypatch.setattr("bot.chat.discord.client._WELL_S", 0.0)
    await until(lambda: gateway.identified == 7, "identified")
    await until(lambda: supervisor._stood_s, "it was well")
    gateway.dispatch(*UNREADABLE)
    await until(lambda: supervisor.pause_s == 1.0, "the next begins at once")
