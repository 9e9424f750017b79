"""Implements Slack as a surface: cards, kept messages, membership, and everything heard there.

Twin: `discord/notifier.py`.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from bot.chat.cards.content import CardContent
from bot.chat.commands.commands import Commands
from bot.chat.hearing.hearing import Trouble
from bot.chat.hearing.reading import Reading
from bot.chat.showing.delivery import Delivery
from bot.chat.slack.accounts import SURFACE
from bot.chat.slack.checks import Me, checked
from bot.chat.slack.client import Doors, SlackClient
from bot.chat.slack.desk import Desk
from bot.chat.slack.listening import Listening
from bot.chat.slack.posting import Cards
from bot.chat.slack.saying import said
from bot.chat.slack.settings import SlackSettings
from bot.chat.slack.unwritten import note_doubtful
from bot.chat.surface import Posted, SurfaceFailed
from lifecycle.records import Card, Message

log = logging.getLogger("signoff.slack")

_PATIENCE_S: Final = 10
_MEMBERSHIP_S: Final = 8
_LONGEST_PAUSE_S: Final = 60
#: Slack lets some 50 cards be read a minute. Reading so many every five seconds leaves room for
#: cards whose ✅ is checked and for windows that close.
_READ_AT_ONCE: Final = 3


class SlackSurface:
    """Implements Surface over one channel of one workspace.

    Before it serves, and while Slack cannot be reached, everything stays due.
    """

    name = SURFACE

    def __init__(self, settings: SlackSettings) -> None:
        """Take the settings; nothing connects before `serve`."""
        self.settings = settings
        self.desk: Desk | None = None
        self.listening: Listening | None = None
        self._reading: Reading | None = None
        self._ready = asyncio.Event()

    async def serve(self, commands: Commands, delivery: Delivery) -> None:
        """Stay connected and hear people and agents until cancelled. Raises StartFailed."""
        desk = self.desk = Desk(self.settings, commands.workflow)
        me = desk.me = await self._known(desk)
        desk.rest.me = me.user
        for note in me.notes:
            log.warning("%s", note)
        desk.presence.note(me.seen)
        listening = self.listening = Listening(desk, me, commands, delivery)
        self._reading = Reading(
            *(commands.workflow, SURFACE, desk.hearing, listening.reactions.read),
            lambda: listening.inbox.quiet,
            continuous=False,  # a connection that stands does not prove that nothing was missed
            at_once=_READ_AT_ONCE,
        )
        await desk.files.make_due()
        await note_doubtful(desk, await listening.inbox.kept())
        self._ready.set()
        delivery.nudge()
        await listening.inbox.resume()
        await self._running(desk, me, listening)

    async def _running(self, desk: Desk, me: Me, listening: Listening) -> None:
        client = SlackClient(desk.web, self._doors(), desk.hearing, desk.clock)
        works = (client.run(me, listening.hear), desk.files.run())
        seeds = desk.seeds
        seeding = (seeds.run(seeded=True), seeds.run(seeded=False), seeds.again())
        looks = (desk.board.run(), desk.presence.run())
        running = [asyncio.create_task(each) for each in (*works, *seeding, *looks)]
        try:
            done, _ = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
        finally:
            for task in running:
                task.cancel()
            # What is being answered is cancelled first, so that it stays stored; then calls are.
            await listening.close()
            desk.web.leave()
            await asyncio.gather(*running, return_exceptions=True)
            desk.hearing.lost("stopped")
            await listening.close()  # once more, for what came while the connection was closing

    # -- cards ----------------------------------------------------------------------------

    async def post_card(self, content: CardContent, claim: str) -> Posted:
        """Post a card and have its seeds put under it; the same claim posts nothing new."""
        cards = Cards(await self._at_work(), self._read_in_time)
        return await cards.post(content, claim, self._found_again)

    async def edit_card(self, content: CardContent, card: Card) -> Posted:
        """Render a card anew where it stands; a final card loses its seeds and buttons."""
        desk = await self._at_work()
        posted = await Cards(desk, self._read_in_time).edit(content, card)
        if desk.web.left:  # nobody works through the queue any more
            await desk.seeds.finish()
        return posted

    async def say(self, message: Message) -> str | None:
        """Say one kept message: words to the channel, an answer in its thread."""
        return await said(await self._at_work(), message)

    # -- reading --------------------------------------------------------------------------

    async def read_card(self, card: Card) -> bool:
        """Apply what stands on a card; True if it was read or nothing can have been missed."""
        if self._reading is None or self.desk is None or self.desk.presence.blind is not None:
            return False
        return await self._reading.read_card(card)

    async def _read_in_time(self, card: Card) -> bool:
        """Read a card; False also if that takes long, with a tool that takes something back: it
        goes on by itself, for other deliveries wait."""
        if self.desk is None:
            return False
        reading = self.desk.workflow.world.background.spawn(self.read_card(card))
        await asyncio.wait({reading}, timeout=_PATIENCE_S)
        return reading.done() and reading.result()

    async def catch_up(self) -> int:
        """Read open cards after a gap and every few minutes; return how many decisions came."""
        return await self._reading.catch_up() if self._reading is not None else 0

    async def membership(self, people: Iterable[str]) -> Mapping[str, bool | None]:
        """Ask Slack which of these people are full members of the workspace now."""
        desk = self.desk
        if desk is None:
            return {}
        within_s = 0 if desk.web.left else _MEMBERSHIP_S
        return await desk.accounts.membership(desk.workflow.policy, people, within_s)

    def health(self) -> Sequence[str]:
        """Say how the connection stands and what is missing."""
        desk = self.desk
        if desk is None:
            return ("slack: not connected yet",)
        door = "Socket Mode" if self._doors().socket else "signed HTTP events"
        lines = [f"slack: {desk.hearing.words()} ({door}, channel {desk.rest.id})"]
        lines += desk.me.notes if desk.me else ()
        if desk.presence.shared is not None:
            lines.append(f"slack: {desk.presence.shared}")
        if away := desk.web.clocks.trouble():
            lines.append(f"slack: {away}")
        lines += [f"slack: {limit}" for limit in desk.web.limits()]
        if desk.web.trouble:
            lines.append(f"slack: {desk.web.trouble}")
        if desk.board.trouble:
            lines.append(f"slack: the board cannot be shown: {desk.board.trouble}")
        if desk.seeds.missing:
            lines.append(f"slack: {len(desk.seeds.missing)} cards stand without the bot's emoji")
        return tuple(lines)

    def heard_since(self) -> int | None:
        """Return since when the connection stands (ms UTC), None if none does."""
        return self.desk.hearing.since_ms if self.desk else None

    async def stops_heard(self, proposal_id: str) -> bool:
        """Hear every ❌ on a card if some may have been missed; False if it is unreadable now."""
        if self.desk is None or self.listening is None or self._reading is None:
            return False
        store = self.desk.workflow.world.store
        card = await store.read(lambda tx: tx.cards.get(proposal_id, SURFACE))
        if card is None or not card.message_ids:
            return True
        in_gap = self.desk.hearing.gap or self.desk.presence.blind is not None
        if not in_gap and not self._reading.missed(card):
            return True
        return await self.listening.reactions.stops_heard(card)

    def trouble(self) -> Trouble | None:
        """Return what people on other surfaces should know, None if all is well."""
        return self.desk.hearing.trouble() if self.desk else None

    # -- inside ---------------------------------------------------------------------------

    def _doors(self) -> Doors:
        settings = self.settings
        return Doors(settings.app_token, settings.signing_secret, settings.entry.http)

    def _found_again(self, message_ts: str) -> None:
        """Have a card read that stood before its row: it may bear ❌ or ✅ already."""
        if self._reading is not None:
            self._reading.found_again(message_ts)

    async def _known(self, desk: Desk) -> Me:
        """Ask Slack who the bot is until it answers; a wrong token ends the start."""
        pause_s = 1
        while True:
            try:
                return await checked(desk.web, desk.rest.id)
            except SurfaceFailed as failure:
                desk.hearing.lost(str(failure))
                log.warning("slack: %s; trying again in %d s", failure, pause_s)
                await desk.clock.sleep(failure.retry_after_s or pause_s)
                pause_s = min(_LONGEST_PAUSE_S, pause_s * 2)

    async def _at_work(self) -> Desk:
        try:
            async with asyncio.timeout(_PATIENCE_S):
                await self._ready.wait()
        except TimeoutError:
            why = self.desk.hearing.words() if self.desk else "not connected yet"
            raise SurfaceFailed(f"Slack: {why}") from None
        if self.desk is None:
            raise SurfaceFailed("Slack: not connected yet")
        return self.desk
