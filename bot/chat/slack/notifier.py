"""Slack as a surface: cards, kept messages, reading cards after a gap, membership, health."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from bot.chat.commands import Commands
from bot.chat.content import CardContent
from bot.chat.delivery import Delivery
from bot.chat.hearing import Hearing, Trouble
from bot.chat.slack.accounts import SURFACE, Accounts
from bot.chat.slack.channel import Channel, EditRefused
from bot.chat.slack.checks import Me, checked
from bot.chat.slack.client import Doors, SlackClient
from bot.chat.slack.commands import SlackCommands
from bot.chat.slack.events import Events
from bot.chat.slack.looking import Looking
from bot.chat.slack.reactions import Reactions
from bot.chat.slack.render import Rendered, rendered
from bot.chat.slack.settings import SlackSettings
from bot.chat.slack.text import escape, fenced
from bot.chat.slack.web import SlackWeb
from bot.chat.surface import CardGone, Posted, SurfaceFailed
from lifecycle.ports import Clock, Transaction
from lifecycle.records import Card, Message
from lifecycle.workflow import Workflow

log = logging.getLogger("signoff.slack")

_PATIENCE_S: Final = 10
_MEMBERSHIP_S: Final = 8
_LONGEST_PAUSE_S: Final = 60
_WORDS: Final = frozenset({"announcement", "note", "summary"})


@dataclass(slots=True)
class _Parts:
    """What exists once the bot serves."""

    workflow: Workflow
    web: SlackWeb
    channel: Channel
    accounts: Accounts
    hearing: Hearing
    clock: Clock
    looking: Looking | None = None
    events: Events | None = None
    me: Me | None = None


class SlackSurface:
    """Implements Surface. Before it serves, and while Slack cannot be reached, all stays due."""

    name = SURFACE

    def __init__(self, settings: SlackSettings) -> None:
        """Take the settings; nothing is opened before `serve`."""
        self._settings = settings
        self._ready = asyncio.Event()
        self._parts: _Parts | None = None
        self._unseeded: set[str] = set()

    async def serve(self, commands: Commands, delivery: Delivery) -> None:
        """Hear people and agents until cancelled. Raises StartFailed for a token, a scope or an
        address that nothing works without."""
        parts = self._parts = self._built(commands.workflow)
        me = parts.me = await self._known(parts)
        events = parts.events = self._events(parts, commands, me)
        for note in me.notes:
            log.warning("%s", note)
        await self._doubt(parts)
        self._ready.set()
        delivery.nudge()
        client = SlackClient(parts.web, self._doors(), parts.hearing, parts.clock)
        try:
            await events.inbox.resume()
            await client.run(me, events.hear)
        finally:
            parts.hearing.lost("stopped")
            await events.inbox.close()

    # -- cards ----------------------------------------------------------------------------

    async def post_card(self, content: CardContent, claim: str) -> Posted:
        """Post the card, its long values in its thread, its seeds under it."""
        parts = await self._at_work()
        call = self._settings.usergroups.get(content.call_group or "")
        shown = await asyncio.to_thread(rendered, content, call)
        ts = await parts.channel.post(f"card:{claim}", shown.text, shown.blocks)
        full = await self._attached(parts, ts, shown)
        if content.seeded:
            await self._seed(parts, ts)
        return Posted(ts, full)

    async def edit_card(self, content: CardContent, card: Card) -> Posted:
        """Render the card anew; a final one loses its seeds."""
        parts = await self._at_work()
        ts = card.message_ids[-1]
        shown = await asyncio.to_thread(rendered, content)
        try:
            await parts.channel.edit(ts, shown.text, shown.blocks)
        except EditRefused as refused:
            await self._told_beside(parts, content, ts, shown, refused)
        full = card.full or await self._attached(parts, ts, shown)
        if not content.seeded:
            await parts.channel.unseed(ts)
            self._unseeded.discard(ts)
        elif ts in self._unseeded:
            await self._seed(parts, ts)
        return Posted(ts, full)

    async def say(self, message: Message) -> None:
        """Say one kept message: words to the channel, an answer in the thread of its proposal."""
        parts = await self._at_work()
        words = message.body.get("text")
        if message.kind in _WORDS and isinstance(words, str):
            await parts.channel.post(f"said:{message.key}", escape(words))
            return
        thread_ts = await self._thread(parts, message.proposal_id)
        await parts.channel.post(f"said:{message.key}", fenced(message.body), thread_ts=thread_ts)

    # -- what was decided while nobody heard ------------------------------------------------

    async def read_card(self, card: Card) -> bool:
        """Apply what stands on a card; True where it was read or nothing can have been missed."""
        looking = self._parts.looking if self._parts else None
        return looking is not None and await looking.card(card)

    async def catch_up(self) -> int:
        """Read all open cards after a gap, and every few minutes while cards are open."""
        looking = self._parts.looking if self._parts else None
        return await looking.cards() if looking is not None else 0

    async def membership(self, people: Iterable[str]) -> Mapping[str, bool]:
        """Say who of those with an account here is still a full member of the workspace."""
        parts = self._parts
        if parts is None:
            return {}
        policy, wanted = parts.workflow.policy, frozenset(people)
        try:
            async with asyncio.timeout(_MEMBERSHIP_S):
                return await parts.accounts.membership(policy, wanted)
        except (TimeoutError, SurfaceFailed):
            named = (name for name in wanted if name in policy.people)
            return {n: False for n in named if SURFACE in policy.people[n].accounts}

    # -- how it stands ----------------------------------------------------------------------

    def health(self) -> Sequence[str]:
        """Return how the connection stands, and what is missing."""
        parts = self._parts
        if parts is None:
            return ("slack: not connected yet",)
        door = "Socket Mode" if self._doors().continuous else "signed HTTP events"
        lines = [f"slack: {parts.hearing.words()} ({door}, channel {parts.channel.id})"]
        lines += parts.me.notes if parts.me else ()
        if parts.web.trouble:
            lines.append(f"slack: {parts.web.trouble}")
        if self._unseeded:
            lines.append(f"slack: {len(self._unseeded)} cards stand without ✅ and ❌ of the bot")
        return tuple(lines)

    def trouble(self) -> Trouble | None:
        """Return what people on other surfaces should know, None where all is well."""
        return self._parts.hearing.trouble() if self._parts else None

    # -- inside -----------------------------------------------------------------------------

    def _built(self, workflow: Workflow) -> _Parts:
        clock, entry = workflow.world.clock, self._settings.entry
        web = SlackWeb(entry.api_base, self._settings.bot_token, clock)
        return _Parts(
            workflow=workflow,
            web=web,
            channel=Channel(web, entry.channel, clock),
            accounts=Accounts(web),
            hearing=Hearing(clock.now_ms),
            clock=clock,
        )

    def _events(self, parts: _Parts, commands: Commands, me: Me) -> Events:
        workflow, channel = parts.workflow, parts.channel
        reactions = Reactions(channel, parts.accounts, me, parts.clock)
        heard = SlackCommands(commands, channel, parts.web)
        events = Events(workflow, me, parts.web, channel, parts.accounts, reactions, heard)
        continuous = self._doors().continuous
        parts.looking = Looking(
            workflow, channel, reactions, events, parts.hearing, continuous=continuous
        )
        return events

    def _doors(self) -> Doors:
        settings = self._settings
        return Doors(settings.app_token, settings.signing_secret, settings.entry.http)

    async def _known(self, parts: _Parts) -> Me:
        """Ask Slack who the bot is until it says so; a wrong token ends the start."""
        pause_s = 1
        while True:
            try:
                return await checked(parts.web, parts.channel.id)
            except SurfaceFailed as failure:
                parts.hearing.lost(str(failure))
                log.warning("slack: %s; trying again in %d s", failure, pause_s)
                await parts.clock.sleep(failure.retry_after_s or pause_s)
                pause_s = min(_LONGEST_PAUSE_S, pause_s * 2)

    async def _doubt(self, parts: _Parts) -> None:
        """Cards whose post was begun by a former process are looked for before they are posted."""
        far_ms = parts.clock.now_ms() + 10**12
        stale = await parts.workflow.world.store.read(
            lambda tx: tx.cards.stale(SURFACE, far_ms, 10_000)
        )
        parts.channel.doubt({f"card:{card.claim}" for card in stale if card.claim})

    async def _at_work(self) -> _Parts:
        try:
            await asyncio.wait_for(self._ready.wait(), _PATIENCE_S)
        except TimeoutError:
            why = self._parts.hearing.words() if self._parts else "not connected yet"
            raise SurfaceFailed(f"Slack: {why}") from None
        if self._parts is None:
            raise SurfaceFailed("Slack: not connected yet")
        return self._parts

    async def _attached(self, parts: _Parts, ts: str, shown: Rendered) -> bool:
        return shown.attachment is None or await parts.channel.attach(ts, shown.attachment)

    async def _seed(self, parts: _Parts, ts: str) -> None:
        if await parts.channel.seed(ts):
            self._unseeded.discard(ts)
        else:
            self._unseeded.add(ts)
            log.warning(
                "slack: a card stands without the bot's own emoji; reactions count all the same"
            )

    async def _told_beside(
        self, parts: _Parts, content: CardContent, ts: str, shown: Rendered, why: EditRefused
    ) -> None:
        """Where the workspace forbids edits, an open card is posted anew, an end told beside it."""
        if not content.final:
            raise CardGone(str(why))
        await parts.channel.post(
            f"end:{content.proposal_id}:{content.version}", shown.text, thread_ts=ts
        )

    async def _thread(self, parts: _Parts, proposal_id: str | None) -> str | None:
        """Return where an answer about a proposal belongs: where it was asked, else its card."""

        def place(tx: Transaction) -> str | None:
            proposal = tx.proposals.get(proposal_id or "")
            card = tx.cards.get(proposal_id or "", SURFACE)
            channel, _, ts = ((proposal.place if proposal else None) or "").partition(":")
            if channel == parts.channel.id and ts:
                return ts
            return card.message_ids[-1] if card and card.message_ids else None

        return await parts.workflow.world.store.read(place)
