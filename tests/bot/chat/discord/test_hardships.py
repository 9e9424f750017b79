"""Decisions and the bot survive what Discord, a proxy and the store do to them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from aiohttp import web

from lifecycle.answers import Sender
from lifecycle.ports import StoreUnavailable
from lifecycle.proposal import ActorKind
from tests.bot.chat.discord.cards import in_window, read_again, seeded
from tests.builders import MAIL, PROD
from tests.fakes.discord_server.faults import Fault
from tests.fakes.discord_stage import ANA, BEN, CROSS, TICK, DiscordStage, until

DUAL = {"approval_class": "dual"}


class Unreadable(Fault):
    """An answer of something in between: JSON by its header, nothing in it."""

    def answer(self) -> web.Response:
        return web.Response(status=self.status, headers={"Content-Type": "application/json"})


def failing_once(real: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
    tries: list[None] = []

    async def once(*args: Any) -> Any:
        tries.append(None)
        if len(tries) == 1:
            raise StoreUnavailable("disk I/O error")
        return await real(*args)

    return once


async def counting(stage: DiscordStage, proposal_id: str) -> list[str]:
    return [review.person for review in await stage.reviews(proposal_id) if review.counts]


async def test_a_cross_counts_although_nobody_can_tell_who_is_a_member(
    stage: DiscordStage,
) -> None:
    proposal_id, card = await in_window(stage)
    stage.server.fails("GET", "/members/1002", status=503, times=None)
    stage.server.reacts(BEN, card, CROSS)
    assert (await stage.reaches(proposal_id, "rolled_back")).reason == "rolled_back_by_person"


async def test_a_check_mark_taken_off_while_its_card_is_read_is_not_counted(
    stage: DiscordStage,
) -> None:
    proposal_id, card = await seeded(stage, PROD)
    await stage.ends()
    stage.server.reacts(ANA, card, TICK)
    gate = asyncio.Event()
    held = stage.server.fails("GET", "/reactions/(%E2%9D%8C|❌)", gate=gate, times=1)
    await stage.begins(connected=False)
    await until(lambda: held.times == 0, "asked for crosses after the check marks")
    stage.server.unreacts(ANA, card, TICK)
    await until(stage._all_heard, "heard")
    gate.set()
    await stage.hears()
    await stage.quiet()
    assert await counting(stage, proposal_id) == []
    assert stage.tool("production-deploy").calls == []


async def test_a_super_reaction_taken_off_after_a_reading_is_taken_back(
    stage: DiscordStage,
) -> None:
    proposal_id, card = await seeded(stage, PROD, **DUAL)
    stage.server.reacts(ANA, card, TICK, burst=True)
    await until(lambda: stage.reviews(proposal_id), "counted")
    await stage.quiet()
    await read_again(stage)
    stage.server.unreacts(ANA, card, TICK, burst=True)
    await stage.quiet()
    assert await counting(stage, proposal_id) == []


async def test_a_global_rate_limit_that_outlasts_our_patience_mutes_nobody(
    stage: DiscordStage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bot.chat.discord.rest._MEMBER_S", 0.1)
    _, card = await seeded(stage, PROD)
    limit = {"status": 429, "retry_after": 0.5, "is_global": True, "times": 1}
    stage.server.fails("GET", "/members/1001", **limit)
    stage.server.reacts(ANA, card, TICK)
    await stage.ignored("not_a_reviewer")  # our patience is over, the limit is not
    await stage.proposes(MAIL)


@pytest.mark.parametrize("what", [("PUT", "/reactions/"), ("PATCH", "/messages/")])
async def test_an_answer_that_cannot_be_read_ends_nothing(
    stage: DiscordStage, what: tuple[str, str]
) -> None:
    broken = Unreadable(*what, status=502, times=1)
    stage.server.faults.append(broken)
    proposal_id, card = await seeded(stage, PROD)
    stage.server.reacts(ANA, card, TICK)
    await stage.reaches(proposal_id, "completed")
    await until(lambda: broken.times == 0, "met")
    await stage.proposes(MAIL)
    assert not stage.serving.done()


async def test_slash_commands_that_may_not_be_offered_now_keep_nobody_waiting(
    unstarted: DiscordStage,
) -> None:
    unstarted.server.fails("PUT", "/commands", status=429, retry_after=600.0, times=None)
    await unstarted.begins()
    await unstarted.proposes(PROD)


async def test_a_client_that_waits_to_connect_again_is_replaced_with_its_watch(
    unstarted: DiscordStage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bot.chat.discord.client._LOOK_S", 0.05)
    monkeypatch.setattr("bot.chat.discord.client._PATIENCE_S", 0.5)
    asleep = asyncio.Event()

    def an_hour(_: object) -> float:
        asleep.set()
        return 3_600.0

    monkeypatch.setattr("discord.backoff.ExponentialBackoff.delay", an_hour)
    await unstarted.begins()
    supervisor, gateway = unstarted.surface.supervisor, unstarted.server.gateway
    first = supervisor.client
    gateway.accepts = False
    gateway.cut()
    await asleep.wait()
    gateway.accepts = True
    await until(lambda: supervisor.client not in (None, first), "a fresh client")
    monkeypatch.setattr("bot.chat.discord.client._PATIENCE_S", 60.0)
    await unstarted.hears()


async def test_a_cross_whose_card_could_not_be_looked_up_is_worked_again(
    stage: DiscordStage,
) -> None:
    proposal_id, card = await in_window(stage)
    reactions = stage.surface.listening.reactions  # type: ignore[union-attr]
    reactions._card = failing_once(reactions._card)  # type: ignore[method-assign]
    stage.server.reacts(BEN, card, CROSS)

    async def stopped() -> bool:
        stage.clock.advance(1)
        return (await stage.proposal(proposal_id)).state.value == "rolled_back"

    await until(stopped, "stopped")


async def test_a_button_whose_card_could_not_be_looked_up_is_pressed_again(
    stage: DiscordStage,
) -> None:
    proposal_id, card = await in_window(stage)
    incoming = stage.surface.listening._incoming  # type: ignore[union-attr]
    incoming.card = failing_once(incoming.card)  # type: ignore[method-assign]
    stage.server.submits(BEN, f"signoff:reason:{card.id}", card, text="wrong person")

    async def stopped() -> bool:
        stage.clock.advance(1)
        return (await stage.proposal(proposal_id)).state.value == "rolled_back"

    await until(stopped, "stopped")


async def test_a_button_does_not_wait_for_its_acknowledgement(stage: DiscordStage) -> None:
    proposal_id, card = await in_window(stage)
    gate = asyncio.Event()
    stage.server.fails("POST", "/callback", gate=gate, times=1)
    stage.server.submits(BEN, f"signoff:reason:{card.id}", card, text="wrong person")
    await stage.reaches(proposal_id, "rolled_back")
    gate.set()
    await stage.quiet()


async def test_a_command_whose_answer_could_not_be_posted_is_not_run_again(
    stage: DiscordStage,
) -> None:
    ben = Sender("terminal", ActorKind.PERSON, "ana", "ana")
    stage.server.says(ANA, "!freeze first")
    await stage.quiet()
    lost = stage.server.fails("POST", "/messages$", status=503, times=1, says="message_reference")
    stage.server.says(ANA, "!thaw")
    await until(lambda: lost.times == 0, "the answer is refused")
    assert (await stage.workflow.freeze("fire!", ben)).done

    async def answered() -> bool:
        stage.clock.advance(2)
        return any("Thawed" in said or "thaw" in said.lower() for said in stage.server.said())

    await until(answered, "the answer")
    await stage.quiet()
    kinds = [row["kind"] for row in await stage.audit("frozen") + await stage.audit("thawed")]
    assert kinds == ["frozen", "frozen", "thawed"]


async def test_a_card_found_again_is_the_card_although_its_edit_fails(stage: DiscordStage) -> None:
    lost = stage.server.fails("POST", "/messages$", acts=True, times=1, says="p1 · sha256")
    refused = stage.server.fails("PATCH", "/messages/", status=503, times=1, says="p1 · sha256")
    stage.sends(PROD, proposal_id="p1")
    await until(lambda: lost.times == 0, "posted, and the answer lost")

    async def edited() -> bool:
        await stage.passes(seconds=3)
        return refused.times == 0

    await until(edited, "found, and its edit refused")
    stage.server.messages.nonces.clear()  # Discord knows a nonce for a few minutes only

    async def stands() -> bool:
        await stage.passes(seconds=61)
        found = await stage.store.read(lambda tx: tx.cards.get("p1", "discord"))
        return found is not None and found.shown_version == found.wanted_version

    await until(stands, "shown")
    card = await stage.card("p1")
    assert [message.id for message in stage.server.cards()] == [card.id]


async def test_seeds_that_could_not_be_put_there_are_put_there_later(
    stage: DiscordStage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bot.chat.discord.seeds._TRIES", 1)
    outage = stage.server.fails("PUT", "/reactions/", status=503, times=2)
    proposal_id = await stage.proposes(PROD)
    card = await stage.card(proposal_id)
    await until(lambda: outage.times == 0, "given up")
    await stage.restarts()
    await until(lambda: (card.who(TICK), card.who(CROSS)) == (["900"], ["900"]), "seeds")


async def test_check_marks_that_somebody_cleared_meanwhile_are_not_taken_back(
    stage: DiscordStage,
) -> None:
    proposal_id, card = await seeded(stage, PROD, **DUAL)
    stage.server.reacts(ANA, card, TICK)
    await until(lambda: stage.reviews(proposal_id), "counted")
    await stage.quiet()
    await stage.ends()
    card.reactions.pop(TICK)
    stage.clock.advance(60)
    await stage.begins()
    await stage.quiet()
    assert await counting(stage, proposal_id) == ["ana"]
