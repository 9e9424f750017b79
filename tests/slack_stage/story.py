"""The verbs of a story on Slack: the bot begins and ends, agents propose, time passes."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from bot.chat.showing.broadcast import Broadcast
from bot.chat.slack.notifier import SlackSurface
from bot.chat.slack.settings import SlackSettings
from bot.clocks.clock import SystemClock
from lifecycle.answers import Sender
from lifecycle.proposal import ActorKind
from lifecycle.records import Card
from tests.builders import MAIL, a_document
from tests.fakes.slack_server import SlackServer
from tests.fakes.slack_server.signed import SignedPoster
from tests.fakes.slack_server.workspace import Message
from tests.slack_stage.seen import Seen, shown
from tests.slack_stage.unwritable import Unwritable
from tests.slack_stage.waiting import DEADLINE_S, eventually
from tests.world import World


@dataclass
class OnSlack(Seen):
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
        self.server.sockets.thought_deaf = self._thought_deaf
        self.serving = asyncio.create_task(self.broadcast.serve(self.world.workflow))
        await self.hears()

    async def hears(self) -> None:
        await eventually(lambda: self._over() or self.hearing.since_ms is not None, "connecting")
        if self.serving is not None and self.serving.done():
            self.serving.result()

    def _over(self) -> bool:
        return self.serving is not None and self.serving.done()

    def _thought_deaf(self) -> bool:
        """Say whether the bot replaces its connection, since the clock leapt over its signs of
        life; not where it serves nothing, or hears by HTTP."""
        over_socket = self.settings is not None and self.settings.app_token is not None
        return (
            over_socket
            and not self._over()
            and self.surface.desk is not None
            and self.hearing.silent
        )

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
        world.ending = False
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

    # -- what agents propose ---------------------------------------------------------------

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

    # -- how it stands ----------------------------------------------------------------------

    async def stands(self, proposal_id: str, state: str) -> None:
        """Wait until a proposal is in this state and its card shows it."""
        end = asyncio.get_running_loop().time() + DEADLINE_S
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
        end = asyncio.get_running_loop().time() + DEADLINE_S
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
        self._disk().failing = failing

    def store_waits(self) -> asyncio.Event:
        """Let every write wait until this event comes."""
        slow = self._disk().slow = asyncio.Event()
        return slow

    def _disk(self) -> Unwritable:
        world = self.world.workflow.world
        if not isinstance(world.store, Unwritable):
            world.store = Unwritable(world.store)  # type: ignore[assignment]
        return world.store

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


class _Deaf:
    since_ms = None
