"""The real Slack surface against the fake server, over the whole law: what people do and see."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

from bot.chat.broadcast import Broadcast, ServedSurface
from bot.chat.slack.notifier import SlackSurface
from bot.chat.slack.settings import SlackSettings
from bot.clock import SystemClock
from bot.config.models import SlackEntry, SlackHttpEntry
from bot.storage.memory import MemoryStore
from lifecycle.answers import Sender
from lifecycle.policy import Policy
from lifecycle.ports import ProposalStore, StoreUnavailable
from lifecycle.proposal import ActorKind
from lifecycle.records import Card
from tests.builders import MAIL, a_document
from tests.fakes.clock import FakeClock
from tests.fakes.slack_server import SlackServer
from tests.fakes.slack_server.limits import texts_of
from tests.fakes.slack_server.signed import SignedPoster
from tests.fakes.slack_server.workspace import Message
from tests.world import World, a_world

_DEADLINE_S = 40.0


class QuickClock(FakeClock):
    """Time stands still until a test moves it; whoever sleeps only gives way for a moment."""

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(min(seconds, 0.01))


T = TypeVar("T")


async def eventually(look: Callable[[], T], what: str = "it", deadline_s: float = _DEADLINE_S) -> T:
    """Wait until `look` returns something true, and return that."""
    end = asyncio.get_running_loop().time() + deadline_s
    while not (found := look()):
        assert asyncio.get_running_loop().time() < end, f"{what} did not happen in time"
        await asyncio.sleep(0.01)
    return found


async def eventually_async(look: Callable[[], Awaitable[bool]], what: str) -> None:
    """Wait until a look that takes its time says yes."""
    end = asyncio.get_running_loop().time() + _DEADLINE_S
    while not await look():
        assert asyncio.get_running_loop().time() < end, f"{what} did not happen in time"
        await asyncio.sleep(0.01)


@dataclass
class OnSlack:
    """A story on Slack."""

    server: SlackServer
    world: World
    surface: SlackSurface
    broadcast: Broadcast
    serving: asyncio.Task[None] | None = None
    settings: SlackSettings | None = None
    number: int = field(default=0)

    async def opens(self) -> None:
        """Start serving and wait until the bot hears."""
        self.serving = asyncio.create_task(self.broadcast.serve(self.world.workflow))
        await self.hears()

    async def hears(self) -> None:
        await eventually(lambda: self._over() or self.hearing.since_ms is not None, "connecting")
        if self.serving is not None and self.serving.done():
            self.serving.result()

    def _over(self) -> bool:
        return self.serving is not None and self.serving.done()

    async def closes(self) -> None:
        """Stop serving."""
        if self.serving is not None:
            self.serving.cancel()
            await asyncio.gather(self.serving, return_exceptions=True)
            self.serving = None

    async def restarts(self) -> None:
        """Start anew over the same store, as a new process would."""
        await self.closes()
        assert self.settings is not None
        self.surface = SlackSurface(self.settings)
        self.broadcast = Broadcast([self.surface])
        world = self.world.workflow.world
        world.notifier = self.broadcast
        self.broadcast.attach(world)
        world.stopping = False
        await self.opens()

    @property
    def hearing(self) -> Any:
        return self.surface.desk.hearing if self.surface.desk else _Deaf()

    def over_http(self) -> SignedPoster:
        """Send everything from now on as signed HTTP, to where the bot listens."""
        assert self.settings is not None
        http = self.settings.entry.http
        poster = SignedPoster(f"http://{http.host}:{http.port}{http.path}", "shh")
        self.server.poster = poster
        self.server.now_s = self.wall_s  # type: ignore[method-assign]
        return poster

    def wall_s(self) -> float:
        """The time that signatures are checked against."""
        return SystemClock().now_ms() / 1000

    # -- what people see ------------------------------------------------------------------

    async def proposes(self, base: Mapping[str, Any] = MAIL, /, **changes: Any) -> Message:
        """Let leila propose, and return the card once it stands with its seeds."""
        self.number += 1
        changes.setdefault("proposal_id", f"p{self.number}")
        document = self.document(base, **changes)
        await self.server.proposes("ULEILA", document)
        return await self.card(document["proposal_id"])

    def document(self, base: Mapping[str, Any] = MAIL, /, **changes: Any) -> dict[str, Any]:
        changes.setdefault("ts_ms", self.world.clock.now_ms())
        return a_document(base, **changes)

    async def card(self, proposal_id: str) -> Message:
        """Return the current card of a proposal, with its seeds."""
        return await eventually(lambda: self.seeded(proposal_id), f"the card of {proposal_id}")

    def seeded(self, proposal_id: str) -> Message | None:
        card = next(iter(self.cards(proposal_id)[::-1]), None)
        return card if card is not None and "x" in card.reactions else None

    def cards(self, proposal_id: str | None = None) -> list[Message]:
        """Return all cards that stand, of one proposal or of all."""
        found = [m for m in self.server.workspace.messages if m.blocks and m.thread_ts is None]
        footer = f" {proposal_id} \u00b7 sha256" if proposal_id else "\u00b7 sha256:"
        return [m for m in found if footer in shown(m)]

    def answers(self) -> list[dict[str, Any]]:
        """Return the JSON objects that the bot posted."""
        return [
            json.loads(unescaped(found[1]))
            for m in self.server.workspace.messages
            if m.user == self.server.workspace.bot_user
            and (found := re.fullmatch(r"```(\{.*\})```", m.text, re.DOTALL))
        ]

    async def answered(self, **wanted: Any) -> dict[str, Any]:
        """Wait for an answer with these values."""

        def look() -> dict[str, Any] | None:
            found = self.answers()
            return next((a for a in found if wanted.items() <= a.items()), None)

        return await eventually(look, f"the answer {wanted}")

    def hints(self) -> list[str]:
        """Return the notes to single people."""
        return [unescaped(each["text"]) for each in self.server.workspace.ephemeral]

    def said(self, words: str) -> list[Message]:
        """Return the messages in which these words stand."""
        return [m for m in self.server.workspace.messages if words in shown(m)]

    # -- how it stands ----------------------------------------------------------------------

    async def stands(self, proposal_id: str, state: str) -> None:
        """Wait until a proposal is in this state and its card shows it."""
        end = asyncio.get_running_loop().time() + _DEADLINE_S
        while True:
            await self.world.workflow.open_ready()
            found = await self.world.store.read(lambda tx: tx.proposals.get(proposal_id))
            now = found.state.value if found else None
            if now == state and any(state in shown(card) for card in self.cards(proposal_id)):
                return
            late = asyncio.get_running_loop().time() > end
            assert not late, f"{proposal_id} is {now}, not {state}"
            await asyncio.sleep(0.01)

    async def settles(self) -> None:
        """Wait until all that was delivered is acknowledged and worked off."""
        envelopes = self.server.sockets.envelopes.values()
        await eventually(lambda: all(each.acked.is_set() for each in envelopes), "acknowledging")
        listening = self.surface.listening
        if listening is not None:
            await listening.inbox.settled()
            await listening.asides.settled()
        await self.world.workflow.idle()

    async def keeps_delivering(self, look: Callable[[], Any]) -> None:
        """Let time pass and deliver again until something is seen."""
        end = asyncio.get_running_loop().time() + _DEADLINE_S
        while not look():
            assert asyncio.get_running_loop().time() < end, "it was not shown in time"
            self.world.clock.advance(1)
            self.broadcast.nudge()
            await self.beats(2)

    async def keeps_catching_up(self) -> None:
        """Do what the job does until all is read."""
        await eventually(lambda: self.hearing.connected, "connecting")
        while self.hearing.gap:
            await self.broadcast.catch_up()
            await self.beats(1)

    async def beats(self, count: int) -> None:
        """Let others work for a moment."""
        for _ in range(count):
            await asyncio.sleep(0.02)

    def store_fails(self, failing: bool) -> None:
        """Let every write fail, or work again."""
        world = self.world.workflow.world
        if not isinstance(world.store, _Unwritable):
            world.store = _Unwritable(world.store)
        world.store.failing = failing

    def health(self) -> str:
        return "\n".join(self.surface.health())

    def text(self, base: Mapping[str, Any] = MAIL, /, **changes: Any) -> str:
        return json.dumps(self.document(base, **changes))

    def bytes_of(self, document: Mapping[str, Any]) -> bytes:
        return json.dumps(document).encode()

    def leila(self) -> Sender:
        return Sender("slack", ActorKind.AGENT, "leila", "T1/ULEILA")

    async def card_row(self, proposal_id: str) -> Card:
        """Return what the store knows of a card."""
        card = await self.world.store.read(lambda tx: tx.cards.get(proposal_id, "slack"))
        assert card is not None
        return card

    async def nothing_stale(self) -> bool:
        """Say whether every card shows what it should."""
        far = self.world.clock.now_ms() + 10**12
        return not await self.world.store.read(lambda tx: tx.cards.stale("slack", far, 10))

    def claimed(self, proposal_id: str) -> bool:
        """Say whether a post of the card has begun."""
        return any(
            proposal_id in str(call.arguments) for call in self.server.waiting("chat.postMessage")
        )

    async def codes(self, proposal_id: str | None = None) -> list[str]:
        """Return the codes of ignored attempts, oldest first."""
        rows = await self.world.audit("ignored")
        return [r["reason"] for r in rows if proposal_id in (None, r["proposal_id"])]


class _Unwritable:
    """A store whose writes fail while `failing`."""

    def __init__(self, store: ProposalStore) -> None:
        self.store = store
        self.failing = False

    async def write(self, unit: Any) -> Any:
        if self.failing:
            raise StoreUnavailable("the disk is full")
        return await self.store.write(unit)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.store, name)


class _Deaf:
    since_ms = None


def shown(message: Message) -> str:
    """Return everything a person can read in a message, as it reads."""
    return unescaped("\n".join([message.text, *(t["text"] for t in texts_of(message.blocks))]))


def unescaped(text: str) -> str:
    return text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")


def the_settings(server: SlackServer, **changes: Any) -> SlackSettings:
    """Return settings for the fake server, over Socket Mode unless a port for events is given."""
    port = changes.pop("port", None)
    entry = SlackEntry(
        bot_token_env="SLACK_BOT_TOKEN",
        channel="C0OPS",
        api_base=server.api_base,
        http=SlackHttpEntry(port=port or 3000),
    )
    found: dict[str, Any] = {"entry": entry, "bot_token": server.workspace.bot_token}
    if port is None:
        found["app_token"] = server.workspace.app_token
    else:
        found["signing_secret"] = "shh"
    return SlackSettings(**(found | changes))


@asynccontextmanager
async def on_slack(
    policy: Policy | None = None,
    store: ProposalStore | None = None,
    *,
    opened: bool = True,
    beside: Callable[[FakeClock], Sequence[ServedSurface]] = lambda _clock: (),
    **changes: Any,
) -> AsyncIterator[OnSlack]:
    """Set the stage: server, law, surface; the bot hears where `opened`, others `beside` it."""
    world = a_world(store or MemoryStore(), policy)
    clock = QuickClock()
    world.clock = world.workflow.world.clock = clock
    async with SlackServer(clock.now_ms) as server:
        settings = the_settings(server, **changes)
        surface = SlackSurface(settings)
        broadcast = Broadcast([*beside(clock), surface])
        world.workflow.world.notifier = broadcast
        broadcast.attach(world.workflow.world)
        story = OnSlack(server, world, surface, broadcast, settings=settings)
        try:
            if opened:
                await story.opens()
            yield story
        finally:
            await story.closes()
            await world.workflow.stop(1.0)
