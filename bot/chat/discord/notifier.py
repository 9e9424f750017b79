"""Implements Discord as a surface: cards, messages, membership, and everything heard there.

Twin: `slack/notifier.py`.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NoReturn

from bot.chat.cards.content import CardContent
from bot.chat.commands.commands import Commands
from bot.chat.discord.calling import Calling
from bot.chat.discord.calls import DoneUnknown, OfAnother
from bot.chat.discord.checks import blindness_of, problems_of
from bot.chat.discord.client import SignoffClient, Supervisor
from bot.chat.discord.history import History
from bot.chat.discord.listening import Listening
from bot.chat.discord.posting import Posting
from bot.chat.discord.rest import Rest
from bot.chat.discord.saying import Saying
from bot.chat.discord.seeds import Seeds
from bot.chat.discord.settings import SURFACE, DiscordSettings, point_library_at
from bot.chat.discord.unwritten import Unwritten
from bot.chat.hearing.hearing import Hearing, Trouble
from bot.chat.hearing.left_behind import check_read
from bot.chat.hearing.senders import accounts_of
from bot.chat.showing.delivery import Delivery
from bot.chat.surface import CardGone, Posted, SurfaceFailed
from lifecycle.ports import Clock
from lifecycle.records import Card, Message
from lifecycle.workflow import Workflow

log = logging.getLogger("signoff.discord")

#: A signal on a message that is no card yet waits about so long for its row, in seconds. If a post
#: took longer, its card is read.
_SOON_S: Final = 7.0
#: A card that is to be posted anew is read in so long, in seconds.
_READ_S: Final = 10.0


class DiscordSurface:
    """Implements Surface over one channel of one server, and Listener for its client."""

    name = SURFACE

    def __init__(self, settings: DiscordSettings, clock: Clock) -> None:
        """Take where to connect; nothing connects before `serve`."""
        point_library_at(settings)
        self.settings = settings
        self.hearing = Hearing(clock.now_ms)
        self.supervisor = Supervisor(settings, self.hearing, self)
        self.rest = Rest(settings, lambda: self.supervisor.client)
        self.history = History(self.rest)
        self.seeds = Seeds(self.rest)
        self.listening: Listening | None = None
        self.problems: list[str] = []
        self._calling = Calling(self)
        self._saying = Saying(self.rest)
        self._posting = Posting(self.rest)
        self._unwritten = Unwritten(self.history)
        self.workflow: Workflow | None = None

    async def serve(self, commands: Commands, delivery: Delivery) -> None:
        """Stay connected and hear people until cancelled. Raises StartFailed."""
        self.workflow = commands.workflow
        self.listening = Listening(self, commands, delivery)
        await self._unwritten.remember(commands.workflow)
        running = [
            asyncio.create_task(each)
            for each in (self.supervisor.run(), self.seeds.run(), self.listening.run())
        ]
        try:
            done, _ = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
        finally:
            for task in running:
                task.cancel()
            await asyncio.gather(*running, return_exceptions=True)
            await self.listening.close()

    # -- Listener -------------------------------------------------------------------------

    def taken(self, event: str, about: Any, number: str) -> None:
        """Hand one event on. If that fails it may have been a ❌: each card is read once more."""
        if self.listening is None:
            return
        try:
            self.listening.taken(event, about, number)
        except Exception:
            self.missed()
            raise

    def missed(self) -> None:
        """Have each card read once more before anything about it becomes final."""
        if self.listening is not None:
            self.listening.reading.doubt()

    def connected(self) -> None:
        """Read what was missed, and deliver what waited."""
        self.rest.connected()
        self.seeds.may_be_put()
        if self.listening is not None:
            self.listening.connected()

    def ready(self) -> None:
        """Look for what is missing, and whether anything of the channel can be heard at all."""
        client = self.supervisor.client
        if client is None:
            return
        before, self.problems = self.problems, problems_of(client, self.settings)
        for problem in self.problems:
            if problem not in before:
                log.warning("Discord: %s", problem)
        blind = blindness_of(client, self.settings)
        if blind is not None:
            self.hearing.blinded(blind)
        elif self.hearing.sees():
            self.connected()
        elif set(before) - set(self.problems):
            self._may_more()
        if self.listening is not None:
            self.listening.offering.seen(inside=client.get_guild(self.settings.guild) is not None)

    def _may_more(self) -> None:
        """The bot has got a permission that it lacked: what was refused is tried again."""
        self.seeds.may_be_put()
        if self.listening is not None:
            self.listening.shows_more()

    async def prepared(self, client: SignoffClient) -> None:
        """Offer the slash commands of this server."""
        if self.listening is not None:
            self.listening.offering.offer(client)

    # -- cards ----------------------------------------------------------------------------

    async def post_card(self, content: CardContent, claim: str) -> Posted:
        """Post a card and have its seeds put under it; look first if it may stand already."""
        card = await self._card(content.proposal_id)
        doubtful = claim in self._unwritten
        if doubtful:
            before = await self._unwritten.found(self.workflow, content, card)
            if before is not None:
                await self._calling.made(content, card, before.called)
                posted = await self._posting.edit(before.message_id, content)
                self._stands(posted, content, late=True)
                return posted
        call = self._calling.role(content, card)
        began_s = asyncio.get_running_loop().time()
        try:
            posted = await self._posting.post(content, claim, call)
        except DoneUnknown:
            self._unwritten.add(claim)
            raise
        # It is in doubt until its row says where it stands: writing that may still fail.
        self._unwritten.add(claim)
        if call is not None:
            await self._calling.called(content.proposal_id)
        took_s = asyncio.get_running_loop().time() - began_s
        self._stands(posted, content, late=doubtful or took_s > _SOON_S)
        return posted

    def _stands(self, posted: Posted, content: CardContent, *, late: bool) -> None:
        """Have a posted card seeded. `late` says that people may have given ❌ or ✅ on it for some
        time, so that it is read."""
        if late and self.listening is not None:
            self.listening.reading.found_again(posted.message_id)
        self.seeds.want(int(posted.message_id), content.seeded)

    async def edit_card(self, content: CardContent, card: Card) -> Posted:
        """Render a card anew where it stands; a final card loses its seeds and buttons."""
        check_read(card, str(self.settings.channel), content)
        self._unwritten.written(card)
        message_id = int(card.message_ids[-1])
        try:
            posted = await self._posting.edit(message_id, content)
        except OfAnother as refused:
            await self._left(card, content, refused)
        self.seeds.kept(message_id, content.seeded)
        await self._calling.late(content, card, message_id)
        return posted

    async def _left(self, card: Card, content: CardContent, refused: OfAnother) -> NoReturn:
        """Raise CardGone, so that a card which nobody can edit is posted anew.

        An open one is read before that: from then on a ❌ is looked for on the new one alone.
        """
        unread = card.delivered and not content.final
        if unread and self.workflow is not None:
            reading = self.workflow.world.background.spawn(self.read_card(card))
            await asyncio.wait({reading}, timeout=_READ_S)
            if not (reading.done() and reading.result()):
                raise SurfaceFailed(f"{refused}; it is read first", retry_after_s=_READ_S)
        raise CardGone(str(refused)) from None

    async def say(self, message: Message) -> str | None:
        """Say one kept message: an answer under what asked for it, anything else in the channel."""
        return await self._saying.say(message, await self._asked_in(message))

    async def _asked_in(self, message: Message) -> str:
        if self.workflow is None or message.proposal_id is None:
            return ""
        proposal = await self.workflow.world.store.read(
            lambda tx: tx.proposals.get(message.proposal_id or "")
        )
        ours = proposal is not None and proposal.surface == SURFACE
        return (proposal.place or "") if proposal is not None and ours else ""

    # -- reading --------------------------------------------------------------------------

    async def sign_of_life(self) -> None:
        """Ask the gateway for a sign of life; return once it came, or did not come in time."""
        client = self.supervisor.client
        if client is not None:
            await client.pulse.ask()

    async def read_card(self, card: Card) -> bool:
        """Apply what stands on a card; True if it was read or nothing can have been missed."""
        if self.listening is None or not card.message_ids:
            return False
        return await self.listening.reading.read_card(card)

    async def catch_up(self) -> int:
        """Read open cards after a gap and every few minutes; return how many decisions came."""
        return await self.listening.reading.catch_up() if self.listening is not None else 0

    async def membership(self, people: Iterable[str]) -> Mapping[str, bool | None]:
        """Ask Discord which of these people are members of the server now."""
        if self.workflow is None:
            return {}
        accounts = accounts_of(self.workflow.policy, SURFACE, frozenset(people))
        found = await asyncio.gather(*(self.rest.member(each) for each in accounts.values()))
        return dict(zip(accounts, found, strict=True))

    def health(self) -> Sequence[str]:
        """Say how the connection stands and what is missing."""
        lines = [f"discord: {self.hearing.words()}"]
        troubles = (*self.problems, *self.supervisor.limits.words())
        lines += [f"discord: {trouble}" for trouble in troubles]
        if self.listening is not None:
            lines += [f"discord: {trouble}" for trouble in self.listening.troubles()]
        if (unsaid := self.rest.unsaid()) is not None:
            lines.append(
                "discord: no approval counts while Discord does not say who is a member; "
                f"when it was asked last: {unsaid}"
            )
        if self.seeds.missing:
            why = next(iter(self.seeds.missing.values()))
            lines.append(f"discord: seeds are missing under {len(self.seeds.missing)} cards: {why}")
        return tuple(lines)

    def heard_since(self) -> int | None:
        """Return since when the connection stands (ms UTC), None if none does."""
        return self.hearing.since_ms

    async def stops_heard(self, proposal_id: str) -> bool:
        """Hear every ❌ on a card if some may have been missed; False if it is unreadable now."""
        listening = self.listening
        return listening is not None and await listening.reactions.stops_heard(proposal_id)

    def trouble(self) -> Trouble | None:
        """Return what people on other surfaces should know, None if all is well."""
        return self.hearing.trouble()

    # -- inside ---------------------------------------------------------------------------

    async def _card(self, proposal_id: str) -> Card | None:
        if self.workflow is None:
            return None
        return await self.workflow.world.store.read(lambda tx: tx.cards.get(proposal_id, SURFACE))
