"""The same bot on a model of Discord that others wrote: simcord, in process, without sockets."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from bot.chat.commands.commands import Commands
from bot.chat.discord.client import SignoffClient
from bot.chat.discord.listening import Listening
from bot.chat.discord.notifier import DiscordSurface
from bot.chat.discord.settings import DiscordSettings
from bot.chat.discord.sparing import Attempts
from bot.chat.showing.broadcast import Broadcast
from bot.storage.opening import open_store
from lifecycle import world as law
from lifecycle.checking.sentinel_run import Sentinel
from lifecycle.permit import KeyRing
from lifecycle.policy import Policy
from lifecycle.ports import ProposalStore
from lifecycle.workflow import Workflow
from sentinel_rules import load_rules
from tests.builders import PROD, a_document, a_policy
from tests.fakes.clock import FakeClock
from tests.fakes.discord_stage import CROSS, TICK, until
from tests.fakes.spool import MemorySpool
from tests.fakes.tools import NotingToolbox

simcord = pytest.importorskip("simcord", reason="simcord is not installed; `make setup` does it")


@dataclass
class Model:
    """A server of simcord with a channel, people, an agent bot, and our bot on it."""

    env: Any
    store: ProposalStore
    people: dict[str, Any]
    channel: Any
    surface: DiscordSurface
    workflow: Workflow

    async def proposes(self, **changes: Any) -> Any:
        """Let leila propose; return the card."""
        text = json.dumps(a_document(PROD, **changes))
        with self.env.time_context():
            if len(text) < 1900:
                await self.people["leila"].send(self.channel, f"!propose ```json\n{text}\n```")
            else:
                file = [("proposal.json", text.encode())]
                await self.people["leila"].send(self.channel, "!propose", attachments=file)
        return await until(self.card, "the card")

    def card(self) -> Any:
        """Return the newest card."""
        found = [m for m in self.channel.history() if m.embeds and "🔔" in str(m.embeds[0].title)]
        return found[-1] if found else None

    async def reaches(self, state: str) -> None:
        """Wait until p1 is in a state."""

        async def there() -> bool:
            await self.workflow.open_ready()
            found = await self.store.read(lambda tx: tx.proposals.get("p1"))
            return found is not None and found.state.value == state

        await until(there, state)

    async def ignored(self, reason: str) -> bool:
        """Say whether an attempt was ignored for this reason."""
        rows = await self.store.read(lambda tx: tx.audit.exported(0, 1000))
        return any(r["reason"] == reason for r in rows)


@pytest.fixture
async def model(tmp_path: Path) -> AsyncIterator[Model]:
    settings = DiscordSettings("t", "T", 1, 2, "http://127.0.0.1:1/api/v10", "ws://127.0.0.1:1/")
    surface = DiscordSurface(settings, FakeClock())
    client = SignoffClient(settings, surface.hearing, surface, Attempts())
    env = simcord.Env(client, strict_sync=False)
    await env.start()
    guild = env.create_guild()
    channel = guild.create_text_channel("ops")
    names = ("ana", "ben", "cal", "leila")
    people = {n: guild.add_member(env.create_user(n, bot=n == "leila")) for n in names}
    surface.settings = surface.rest.settings = replace(settings, guild=guild.id, channel=channel.id)
    surface.supervisor.client = client
    store = await open_store("memory:", tmp_path)
    workflow, broadcast = _bot(surface, store, _policy(people))
    await workflow.start()
    surface.workflow = workflow
    delivery = broadcast.delivery("discord")
    surface.listening = Listening(surface, Commands(workflow), delivery)
    surface.hearing.began()
    surface.hearing.caught_up(surface.hearing.since_ms)
    running = (delivery.run(), surface.seeds.run(), surface.listening.run())
    tasks = [asyncio.create_task(each) for each in running]
    yield Model(env, store, people, channel, surface, workflow)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    await surface.listening.close()
    await env.shutdown()
    await store.close()
    assert env.errors == []


def _policy(people: dict[str, Any]) -> Policy:
    policy = a_policy()
    known = {
        name: replace(policy.people[name], accounts={"discord": str(people[name].id)})
        for name in ("ana", "ben", "cal")
    }
    leila = replace(policy.agents["leila"], accounts={"discord": str(people["leila"].id)})
    return replace(policy, people={**policy.people, **known}, agents={"leila": leila})


def _bot(
    surface: DiscordSurface, store: ProposalStore, policy: Policy
) -> tuple[Workflow, Broadcast]:
    broadcast, nonces = Broadcast([surface]), itertools.count(1)
    world = law.World(
        store=store,
        clock=FakeClock(),
        notifier=broadcast,
        toolbox=NotingToolbox(),
        spool=MemorySpool(),
        ring=KeyRing({"k1": b"k" * 32}, "k1"),
        nonce=lambda: f"{next(nonces):032x}",
        law=law.Law(policy, Sentinel(load_rules(policy.rules))),
        public_url="",
    )
    broadcast.attach(world)
    return Workflow(world), broadcast


async def test_a_person_signs_off_with_a_tick(model: Model) -> None:
    card = await model.proposes()
    await until(lambda: [r for r in model.card().reactions if str(r.emoji) == CROSS], "seeds")
    await model.people["ana"].react(card, TICK)
    await model.reaches("completed")
    await until(lambda: not model.card().reactions[0].me if model.card().reactions else True, "off")


async def test_a_cross_rejects(model: Model) -> None:
    card = await model.proposes()
    await model.people["ben"].react(card, CROSS)
    await model.reaches("rejected")


async def test_who_may_not_review_changes_nothing(model: Model) -> None:
    card = await model.proposes()
    await model.people["cal"].react(card, TICK)
    await until(lambda: model.ignored("not_a_reviewer"), "an audit row")
    await model.reaches("sentinel_approved")


async def test_a_tick_is_taken_back_and_two_people_are_needed(model: Model) -> None:
    card = await model.proposes(approval_class="dual")
    await model.people["ana"].react(card, TICK)
    await model.people["ana"].unreact(card, TICK)
    await model.people["ben"].react(card, TICK)
    await model.reaches("sentinel_approved")
    await model.people["ana"].react(card, TICK)
    await model.reaches("completed")


async def test_a_button_approves(model: Model) -> None:
    card = await model.proposes()
    await model.people["ana"].click(card, custom_id="signoff:approve")
    await model.reaches("completed")


async def test_a_card_that_was_deleted_is_posted_again(model: Model) -> None:
    first = await model.proposes()
    with model.env.time_context():
        await first.delete()
    await until(lambda: model.card() is not None and model.card().id != first.id, "again")
    await model.people["ana"].react(model.card(), TICK)
    await model.reaches("completed")


async def test_a_long_card_is_within_the_limits_of_others_too(model: Model) -> None:
    parameters = {"version": "v42", "notes": "_*`~ " * 1000, "log": "🎉" * 1500}
    card = await model.proposes(parameters=parameters)
    assert len(card.attachments) == 1
