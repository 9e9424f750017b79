"""Slack as a surface: cards, kept messages, membership, and everything heard there."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Final, TypeVar

from bot.chat.commands import Commands
from bot.chat.content import CardContent
from bot.chat.delivery import Delivery
from bot.chat.hearing import Trouble
from bot.chat.reading import Reading
from bot.chat.slack.accounts import SURFACE
from bot.chat.slack.calls import SlackRefused
from bot.chat.slack.checks import Me, checked
from bot.chat.slack.client import Doors, SlackClient
from bot.chat.slack.desk import Desk
from bot.chat.slack.listening import Listening
from bot.chat.slack.render import Rendered, called, rendered, short_card
from bot.chat.slack.rest import EditRefused
from bot.chat.slack.saying import said
from bot.chat.slack.settings import SlackSettings
from bot.chat.surface import CardGone, Posted, SurfaceFailed
from lifecycle.records import Card, Message

log = logging.getLogger("signoff.slack")

_PATIENCE_S: Final = 10
_MEMBERSHIP_S: Final = 8
_LONGEST_PAUSE_S: Final = 60
_FAR_MS: Final = 10**15
_LARGE: Final = 4_000
#: What Slack says of a message whose form it does not take; a shorter one it may.
_TOO_MUCH: Final = frozenset(
    {"msg_too_long", "msg_blocks_too_long", "invalid_blocks", "invalid_blocks_format"}
)

T = TypeVar("T")


class SlackSurface:
    """Implements Surface over one channel of one workspace.

    Before it serves, and while Slack cannot be reached, all stays due.
    """

    name = SURFACE

    def __init__(self, settings: SlackSettings) -> None:
        """Take the settings; nothing is opened before `serve`."""
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
        listening = self.listening = Listening(desk, me, commands, delivery)
        self._reading = Reading(
            *(commands.workflow, SURFACE, desk.hearing, listening.reactions.read),
            lambda: listening.inbox.quiet,
            continuous=False,  # a connection that stands does not prove that nothing was missed
        )
        await self._note_doubtful(desk)
        self._ready.set()
        delivery.nudge()
        await listening.inbox.resume()
        await self._running(desk, me, listening)

    async def _running(self, desk: Desk, me: Me, listening: Listening) -> None:
        client = SlackClient(desk.web, self._doors(), desk.hearing, desk.clock)
        works = (client.run(me, listening.hear), desk.seeds.run(), desk.board.run())
        running = [asyncio.create_task(each) for each in works]
        try:
            done, _ = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
        finally:
            for task in running:
                task.cancel()
            await asyncio.gather(*running, return_exceptions=True)
            desk.hearing.lost("stopped")
            await listening.close()

    # -- cards ----------------------------------------------------------------------------

    async def post_card(self, content: CardContent, claim: str) -> Posted:
        """Post a card and have its seeds put under it; the same claim posts nothing new."""
        desk = await self._at_work()
        call = await desk.calling.whom(content)
        shown = await _rendered(content, call)
        key = f"card:{claim}"
        before = await desk.rest.posted_before(key)
        if before is None:
            ts, shown = await _refused_shorter(
                lambda each: desk.rest.post(key, each.text, each.blocks), shown, content
            )
            if call is not None:
                await desk.calling.called(content.proposal_id)
        else:
            ts = before
            _, shown = await self._edited(desk, ts, shown, content)
        full = await self._attached(desk, ts, shown)
        if content.seeded:
            desk.seeds.want(ts, seeded=True)
        return Posted(ts, full)

    async def edit_card(self, content: CardContent, card: Card) -> Posted:
        """Render a card anew where it stands; at the end its seeds and buttons go."""
        desk = await self._at_work()
        ts = card.message_ids[-1]
        shown = await _rendered(content)
        try:
            _, shown = await self._edited(desk, ts, shown, content)
        except EditRefused as refused:
            await self._told_beside(desk, content, ts, shown, refused)
        full = shown.attachment is None or await desk.rest.attach_cut(
            ts, shown.attachment, whole=card.full
        )
        desk.seeds.kept(ts, content.seeded)
        await self._called_late(desk, content, ts)
        return Posted(ts, full)

    async def _edited(
        self, desk: Desk, ts: str, shown: Rendered, content: CardContent
    ) -> tuple[None, Rendered]:
        return await _refused_shorter(
            lambda each: desk.rest.edit(ts, each.text, each.blocks), shown, content
        )

    async def say(self, message: Message) -> str | None:
        """Say one kept message: words to the channel, an answer in the thread it belongs to."""
        return await said(await self._at_work(), message)

    # -- reading --------------------------------------------------------------------------

    async def read_card(self, card: Card) -> bool:
        """Apply what stands on a card; True where it was read or nothing can have been missed."""
        return self._reading is not None and await self._reading.read_card(card)

    async def catch_up(self) -> int:
        """Read all open cards after a gap, and every few minutes."""
        return await self._reading.catch_up() if self._reading is not None else 0

    async def membership(self, people: Iterable[str]) -> Mapping[str, bool | None]:
        """Ask Slack who of these people is a full member of the workspace now."""
        desk = self.desk
        if desk is None:
            return {}
        policy, wanted = desk.workflow.policy, frozenset(people)
        try:
            async with asyncio.timeout(_MEMBERSHIP_S):
                return await desk.accounts.membership(policy, wanted)
        except (TimeoutError, SurfaceFailed):
            named = (name for name in wanted if name in policy.people)
            return {n: None for n in named if SURFACE in policy.people[n].accounts}

    def health(self) -> Sequence[str]:
        """Say how the connection stands and what is missing."""
        desk = self.desk
        if desk is None:
            return ("slack: not connected yet",)
        door = "Socket Mode" if self._doors().socket else "signed HTTP events"
        lines = [f"slack: {desk.hearing.words()} ({door}, channel {desk.rest.id})"]
        lines += desk.me.notes if desk.me else ()
        if desk.web.trouble:
            lines.append(f"slack: {desk.web.trouble}")
        if desk.board.trouble:
            lines.append(f"slack: the board cannot be shown: {desk.board.trouble}")
        if desk.seeds.missing:
            lines.append(f"slack: {len(desk.seeds.missing)} cards stand without the bot's emoji")
        return tuple(lines)

    def heard_since(self) -> int | None:
        """Return since when the connection stands, None where none does."""
        return self.desk.hearing.since_ms if self.desk else None

    async def stops_heard(self, proposal_id: str) -> bool:
        """Hear what stands under ❌ after a gap; False where it cannot be read now."""
        if self.desk is None or self.listening is None:
            return False
        in_gap = self.desk.hearing.gap
        return not in_gap or await self.listening.reactions.stops_heard(proposal_id)

    def trouble(self) -> Trouble | None:
        """Return what people on other surfaces should know, None where all is well."""
        return self.desk.hearing.trouble() if self.desk else None

    # -- inside ---------------------------------------------------------------------------

    def _doors(self) -> Doors:
        settings = self.settings
        return Doors(settings.app_token, settings.signing_secret, settings.entry.http)

    async def _known(self, desk: Desk) -> Me:
        """Ask Slack who the bot is until it says so; a wrong token ends the start."""
        pause_s = 1
        while True:
            try:
                return await checked(desk.web, desk.rest.id)
            except SurfaceFailed as failure:
                desk.hearing.lost(str(failure))
                log.warning("slack: %s; trying again in %d s", failure, pause_s)
                await desk.clock.sleep(failure.retry_after_s or pause_s)
                pause_s = min(_LONGEST_PAUSE_S, pause_s * 2)

    async def _note_doubtful(self, desk: Desk) -> None:
        """What a former process may have posted without writing it down is looked for first."""
        stale = await desk.workflow.world.store.read(
            lambda tx: tx.cards.stale(SURFACE, _FAR_MS, 10_000)
        )
        desk.rest.doubt({f"card:{card.claim}" for card in stale if card.claim})

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

    async def _attached(self, desk: Desk, ts: str, shown: Rendered) -> bool:
        return shown.attachment is None or await desk.rest.attach(ts, shown.attachment)

    async def _called_late(self, desk: Desk, content: CardContent, ts: str) -> None:
        """Call people under a card that did not need them when it was posted: edits call nobody."""
        call = await desk.calling.whom(content)
        if call is not None:
            await desk.rest.post(f"call:{content.proposal_id}", called(call), thread_ts=ts)
            await desk.calling.called(content.proposal_id)

    async def _told_beside(
        self, desk: Desk, content: CardContent, ts: str, shown: Rendered, why: EditRefused
    ) -> None:
        """Where the workspace forbids edits, an open card is posted anew, an end told beside it."""
        if not content.final:
            raise CardGone(str(why))
        key = f"end:{content.proposal_id}:{content.version}"
        await desk.rest.post(key, shown.text, thread_ts=ts)


async def _rendered(content: CardContent, call: str | None = None) -> Rendered:
    """Render; a large card in a thread, so that nothing else waits for it."""
    size = sum(len(each.text) for each in (*content.facts, *content.written))
    if size < _LARGE:
        return rendered(content, call)
    return await asyncio.to_thread(rendered, content, call)


async def _refused_shorter(
    write: Callable[[Rendered], Awaitable[T]], shown: Rendered, content: CardContent
) -> tuple[T, Rendered]:
    """Write a card, as short as it can be where Slack refuses the whole one for its form."""
    try:
        return await write(shown), shown
    except SlackRefused as refused:
        if refused.error not in _TOO_MUCH:
            raise
        log.warning("slack refuses the card of %s: %s", content.proposal_id, refused.error)
        short = short_card(content)
        return await write(short), short
