"""The whole law with the real discord.py, over sockets, against our own Discord server."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import itertools
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from bot.chat.discord.notifier import DiscordSurface
from bot.chat.discord.settings import DiscordSettings
from bot.chat.showing.broadcast import Broadcast, ServedSurface
from lifecycle import world as law
from lifecycle.checking.sentinel_run import Sentinel
from lifecycle.permit import KeyRing
from lifecycle.policy import Policy
from lifecycle.ports import ProposalStore
from lifecycle.proposal import Proposal
from lifecycle.review import Review
from lifecycle.workflow import Workflow
from tests.builders import MAIL, a_document, a_policy
from tests.fakes.clock import FakeClock
from tests.fakes.discord_server import DiscordServer
from tests.fakes.discord_server.state import APPROVERS_ROLE, CHANNEL, GUILD, Message
from tests.fakes.spool import MemorySpool
from tests.fakes.tools import NotingTool, NotingToolbox
from tests.world import rules_of

ANA, BEN, CAL, DEE, OLGA, LEILA, NOUR = "1001", "1002", "1003", "1004", "1005", "911", "912"
TICK, CROSS = "✅", "❌"


async def until(condition: Callable[[], Any], what: str = "", seconds: float = 40.0) -> Any:
    """Wait until `condition` (plain or a coroutine function) is true; fail with `what`."""
    try:
        async with asyncio.timeout(seconds):
            while True:
                value = condition()
                value = await value if inspect.isawaitable(value) else value
                if value:
                    return value
                await asyncio.sleep(0.01)
    except TimeoutError:
        raise AssertionError(
            f"it did not come true: {what or inspect.getsource(condition)}"
        ) from None


@dataclass
class DiscordStage:
    """One process of the bot, which may be ended and begun anew over the same store."""

    store: ProposalStore
    server: DiscordServer
    policy: Policy
    clock: FakeClock = field(default_factory=FakeClock)
    toolbox: NotingToolbox = field(default_factory=NotingToolbox)
    ids: Any = field(default_factory=lambda: itertools.count(1))
    heartbeat_s: float = 60.0
    guild: str = GUILD
    channel: str = CHANNEL
    roles: Mapping[str, int] = field(default_factory=lambda: {"approvers": int(APPROVERS_ROLE)})

    async def begins(self, *, connected: bool = True) -> None:
        """Start the bot; wait until it hears, unless it cannot."""
        await self.is_put_together()
        self.serving = asyncio.create_task(self.broadcast.serve(self.workflow))
        if connected:
            await self.hears()

    async def is_put_together(self, *beside: ServedSurface) -> None:
        """Make the bot over Discord and what is `beside` it, and take up what its store holds."""
        settings = DiscordSettings(
            token=self.server.token,
            token_env="DISCORD_TOKEN",
            guild=int(self.guild),
            channel=int(self.channel),
            api_base=self.server.api_base,
            gateway=self.server.gateway_url,
            roles=self.roles,
            heartbeat_s=self.heartbeat_s,
        )
        self.surface = DiscordSurface(settings, self.clock)
        self.broadcast = Broadcast([self.surface, *beside])
        nonces = (f"{number:032x}" for number in itertools.count(id(self.surface)))
        self.workflow = Workflow(
            law.World(
                store=self.store,
                clock=self.clock,
                notifier=self.broadcast,
                toolbox=self.toolbox,
                spool=MemorySpool(),
                ring=KeyRing({"k1": b"k" * 32}, "k1"),
                nonce=lambda: next(nonces),
                law=law.Law(self.policy, Sentinel(rules_of(self.policy))),
                public_url="http://127.0.0.1:8080",
            )
        )
        self.broadcast.attach(self.workflow.world)
        await self.workflow.start()

    async def hears(self) -> None:
        """Wait until the bot is connected and has read what it missed."""
        await until(lambda: self.surface.hearing.connected, "connected")
        await until(lambda: not self.surface.hearing.gap, "caught up")

    async def ends(self) -> None:
        """End the bot as SIGTERM does."""
        await self.workflow.shut_down(1)
        self.serving.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self.serving

    async def restarts(self) -> None:
        """End the bot and begin it anew."""
        await self.ends()
        await self.begins()

    # -- what agents and people do ----------------------------------------------------------

    async def proposes(
        self, base: Mapping[str, Any] = MAIL, /, *, bot: str = LEILA, **changes: Any
    ) -> str:
        """Let an agent bot propose by a message; return the id once its card stands."""
        proposal_id = self.sends(base, bot=bot, **changes)
        await self.card(proposal_id)
        return proposal_id

    def sends(self, base: Mapping[str, Any] = MAIL, /, *, bot: str = LEILA, **changes: Any) -> str:
        """Let an agent bot propose by a message; return the id at once."""
        actor = {LEILA: "leila", NOUR: "nour", ANA: "ana"}.get(bot, "leila")
        changes = {"proposal_id": f"p{next(self.ids)}", "actor": actor} | changes
        document = a_document(base, ts_ms=self.clock.now_ms(), **changes)
        self.server.says(bot, f"!propose ```json\n{json.dumps(document)}\n```")
        return str(changes["proposal_id"])

    async def card(self, proposal_id: str) -> Message:
        """Return the newest card of a proposal once it stands and is written down."""

        async def stands() -> Message | None:
            found = await self.store.read(lambda tx: tx.cards.get(proposal_id, "discord"))
            if found is None or not found.delivered or found.shown_version < found.wanted_version:
                return None
            return self.server.state.messages[self.channel].get(found.message_ids[-1])

        return await until(stands, f"the card of {proposal_id}")  # type: ignore[no-any-return]

    async def proposal(self, proposal_id: str) -> Proposal:
        """Return a proposal as the store has it."""
        found = await self.store.read(lambda tx: tx.proposals.get(proposal_id))
        assert found is not None, f"no proposal {proposal_id}"
        return found

    async def reaches(self, proposal_id: str, state: str) -> Proposal:
        """Wait until a proposal is in a state; keep house meanwhile.

        What was tried over a ✅ that is being taken off is tried again after 5 s, and the clock
        stands still here: nothing is tried while one waits to be worked.
        """

        async def there() -> Proposal | None:
            if not self.workflow.world.heard.of(proposal_id):
                await self.workflow.open_ready()
            found = await self.store.read(lambda tx: tx.proposals.get(proposal_id))
            return found if found is not None and found.state.value == state else None

        return await until(there, f"{proposal_id} {state}")  # type: ignore[no-any-return]

    async def keeps_house(self) -> None:
        """Run every job once."""
        workflow = self.workflow
        for job in (
            self.broadcast.catch_up,
            workflow.recover,
            workflow.expire_due,
            workflow.open_ready,
            workflow.close_due,
            workflow.remind,
        ):
            await job()
        await workflow.idle()
        self.broadcast.nudge()

    async def passes(self, *, minutes: float = 0, seconds: float = 0) -> None:
        """Let time pass, then keep house."""
        self.clock.advance(minutes * 60 + seconds)
        await self.keeps_house()

    async def quiet(self) -> None:
        """Wait until everything that the server sent has been heard and worked."""
        listening = self.surface.listening
        assert listening is not None
        await until(self._all_heard, "all events heard")
        await until(lambda: listening.quiet, "all events worked")
        await self.workflow.idle()

    def _all_heard(self) -> bool:
        client = self.surface.supervisor.client
        session = self.server.gateway.sessions.get(client.ws.session_id or "") if client else None
        return session is not None and client.ws.sequence == len(session.sent)

    # -- what came of it --------------------------------------------------------------------

    async def reviews(self, proposal_id: str) -> list[Review]:
        """Return the reviews."""
        return list(await self.store.read(lambda tx: tx.reviews.of(proposal_id)))

    async def audit(self, kind: str, reason: str | None = None) -> list[Mapping[str, Any]]:
        """Return the audit rows of one kind."""
        rows = await self.store.read(lambda tx: tx.audit.exported(0, 100_000))
        return [r for r in rows if r["kind"] == kind and reason in (None, r["reason"])]

    async def ignored(self, reason: str, count: int = 1) -> list[Mapping[str, Any]]:
        """Wait for the rows of ignored attempts."""
        return await until(  # type: ignore[no-any-return]
            lambda: self._enough("ignored", reason, count), f"{count} ignored {reason}"
        )

    async def _enough(self, kind: str, reason: str, count: int) -> list[Mapping[str, Any]] | None:
        rows = await self.audit(kind, reason)
        return rows if len(rows) >= count else None

    def tool(self, name: str) -> NotingTool:
        """Return the noting tool of this name."""
        return self.toolbox.noting(name)

    def answers(self) -> list[dict[str, Any]]:
        """Return every JSON object that the bot has answered in the channel."""
        found = []
        for text in self.server.said():
            _, fence, rest = text.partition("```json\n")
            if fence:
                found.append(json.loads(rest.rpartition("\n```")[0]))
        return found


def a_stage(
    store: ProposalStore, server: DiscordServer, policy: Policy | None = None
) -> DiscordStage:
    """Set the stage; `begins` starts the bot."""
    return DiscordStage(store, server, policy or a_policy())
