"""One proposal at a time, brought somewhere, and then several deeds on it in the same moment."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from functools import partial
from typing import Any

from bot.chat.hearing.event_ids import card_lane
from bot.chat.hearing.inbox import Inbox
from bot.chat.hearing.incoming import Incoming
from bot.chat.hearing.senders import sender_of
from bot.chat.hearing.signals import Signal
from bot.chat.hearing.stops import StopOf, stop_by, stop_typed
from bot.chat.showing.delivery import Delivery
from lifecycle.answers import Reply
from lifecycle.ports import Transaction
from lifecycle.proposal import Outcome, Proposal, Verb
from tests.stories.any_channels import SURFACES
from tests.stories.any_order import Disorder
from tests.stories.kept_words import unkept
from tests.stories.late import LateSentinel, some_turns

# What may be done with something, by how it stands.
_UNDECIDED = (
    "approves approves rejects arrives arrives is_typed is_typed withdraws freezes thaws adopts "
    "adopts observes shows open_ready expire_due passes catches_up leaves presses"
)
_RUNNING = (
    "answers answers rejects arrives arrives is_typed freezes thaws adopts observes passes settles "
    "retries close_due recheck recover catches_up approves"
)
_WINDOW = (
    "rejects rejects arrives arrives is_typed close_due close_due passes freezes thaws adopts "
    "observes recheck catches_up approves retries"
)
_DOUBT = (
    "settles settles retries rejects arrives is_typed close_due recover adopts answers observes"
)
_AGENT = (
    "redeems redeems redeems reports reports rejects arrives is_typed withdraws passes expire_due "
    "adopts observes settles recover freezes thaws"
)
_JOBS = frozenset({"open_ready", "expire_due", "close_due", "recheck", "recover"})
#: What somebody calls who may go away before the answer.
_CALLED = frozenset("approves rejects withdraws settles retries redeems reports presses".split())
_BEGINS = frozenset({"execute", "commit_claimed", "called_again"})


class AtOnce(Disorder):
    """A bot whose people, agents and jobs all act in the same moment.

    `told` is what everybody was answered; `acknowledged` the last entry of the trail when somebody
    was told that their stop counts: after it nothing begins. `heard` are the stops that an inbox
    has stored, with the last entry then; `worked` the last one when that was done.
    """

    most, sentinel_of = 1_000, LateSentinel

    def __init__(self, world: Any, seed: int) -> None:
        super().__init__(world, seed)
        self.told: list[tuple[str, str, str, Reply]] = []
        self.acknowledged: dict[str, int] = {}
        self.heard: dict[str, tuple[str, StopOf, int]] = {}
        self.worked: dict[str, int] = {}
        self.adopting, self.jobs = asyncio.Lock(), set[str]()
        self.looked, self.frozen, self.in_force = 0, False, ""
        workflow = world.workflow
        self.inboxes = {name: Inbox(name, self.law, partial(self._work, name)) for name in SURFACES}
        self.deliveries = [Delivery(self.law, each) for each in self.channels.channels.values()]
        for name in ("approve", "reject", "roll_back", "withdraw", "take_back", "settle", "redeem"):
            setattr(workflow, name, partial(self._remembered, name, getattr(workflow, name)))

    # -- what is done -----------------------------------------------------------------------

    async def once(self) -> None:
        """Propose something, bring it somewhere, let several things happen to it, and look."""
        await self._somewhere()
        for _ in range(self.chance.choice((1, 1, 2))):
            await self._burst()
        await self.turns_of_the_loop(150)
        await self._looks()

    async def ends_well(self) -> None:
        """Let all come to its end, and hold what people were told against what is there."""
        while any(not box.quiet for box in self.inboxes.values()):
            for answer in self.waiting:
                answer.done() or answer.set_result("done")
            self.world.clock.advance(1)
            await self.turns_of_the_loop(60)
        await self._looks()
        await self.left_alone()
        for told in self.told:
            self.wrong += await self.world.store.read(partial(unkept, *told))
        await self.looked_after()
        await self._looks()

    async def _somewhere(self) -> None:
        """Propose, and go on with it: to people, into its window, into the end of that."""
        self.mode = "done"
        await self.submits()
        depth = self.chance.choice((0, 1, 1, 2, 2, 2, 3, 4, 4, 5))
        if depth:
            await self._rests()
        if depth >= 2:
            self.mode = self.chance.choice(("waits", "waits", "unknown")) if depth == 2 else "done"
            for who in ("ana", "ben"):
                self.begin(self.world.workflow.approve(self.some(), self.world.sender(who), "so"))
            await self._rests()
            await self.redeems()
        if depth >= 4:
            self.world.clock.advance(self.chance.choice((61, 901)))
        if depth == 5:
            self.mode = self.chance.choice(("waits", "failed", "unknown"))
            await self.world.workflow.close_due()

    async def _rests(self) -> None:
        for _ in range(3):
            await self.shows()
            await self.turns_of_the_loop(40)
        self.begin(self.world.workflow.open_ready())
        await self.turns_of_the_loop(60)

    async def _burst(self) -> None:
        self.mode = self.chance.choice((self.mode, "done", "waits", "failed", "unknown"))
        for _ in range(self.chance.randint(3, 9)):
            found = await self.world.store.read(partial(_found, self.some()))
            if found is not None and found.terminal:
                return
            before = set(self.under_way)
            deed = self.chance.choice(_fitting(found).split())
            await (self._job(deed) if deed in _JOBS else getattr(self, deed)())
            if self.chance.random() < 0.2 and deed in _CALLED:
                self.begin(self._goes_away(self.under_way - before, self.chance.randint(1, 25)))
            await self.turns_of_the_loop(self.chance.choice((0, 0, 0, 1, 2, 4, 9, 20)))

    async def _goes_away(self, calls: set[asyncio.Task[None]], turns: int) -> None:
        """Let whoever called not wait for the answer: their connection is cut."""
        await self.turns_of_the_loop(turns)
        for call in calls:
            call.cancel()

    def some(self) -> str:
        return f"p{self.proposed}"

    async def _job(self, name: str) -> None:
        """Run a job, never twice at a time."""
        if name not in self.jobs:
            self.jobs.add(name)
            self.begin(self._run(name))

    async def _run(self, name: str) -> None:
        try:
            await getattr(self.world.workflow, name)()
        finally:
            self.jobs.discard(name)

    async def adopts(self) -> None:
        adopting = super().adopts

        async def one_by_one() -> None:
            async with self.adopting:
                await adopting()

        await self._beside(one_by_one())

    async def shows(self) -> None:
        for delivery in self.deliveries:
            await self._beside(delivery.drain())

    async def observes(self, *, good: bool | None = None) -> None:
        await self._beside(super().observes(good=good))

    async def _beside(self, work: Coroutine[Any, Any, Any]) -> None:
        self.begin(work)

    async def arrives(self) -> None:
        """Let an inbox take an emoji that somebody puts on a card, or takes off again at once."""
        card, message_id = await self._some_card()
        if card is None:
            return
        signal, person = self._signal(), self.chance.choice(("ana", "ben", "dee"))
        account = self.world.workflow.policy.people[person].accounts.get(card.surface, "unknown")
        stands = self.channels.channels[card.surface].emoji.setdefault(message_id, set())
        for added in self.chance.choice(((True,), (True,), (True, False), (True, False, True))):
            (stands.add if added else stands.discard)((person, signal.name))
            payload = {"on": message_id, "who": account, "signal": signal.name, "added": added}
            lane = card_lane(message_id, signal, account)
            self._take(card.surface, lane, payload, stop_by(message_id, signal, added=added))

    async def is_typed(self) -> None:
        surface, person = self.chance.choice(SURFACES), self.chance.choice(("ana", "ben"))
        account = self.world.workflow.policy.people[person].accounts.get(surface, "unknown")
        verb = self.chance.choice(("approve", "reject", "roll_back"))
        stops = stop_typed(f"{verb.replace('_', '-')} {self.some()} so")
        self._take(surface, f"c:{account}", {"verb": verb, "who": account}, stops)

    def _take(self, surface: str, lane: str, payload: dict[str, Any], stops: StopOf | None) -> None:
        self.events += 1
        event_id, named = f"taken-{self.events}", self.some()

        async def taking() -> None:
            await self.inboxes[surface].take(event_id, lane, payload | {"of": named}, stops)
            if stops is not None:
                self.heard[event_id] = (named, stops, self.world.store.seq)

        asyncio.create_task(taking())  # noqa: RUF006 - its store always answers

    async def _work(self, surface: str, event_id: str, payload: Mapping[str, Any]) -> None:
        await some_turns(self.chance)
        workflow = self.world.workflow
        sender = sender_of(workflow.policy, surface, payload["who"], event_id=event_id)
        if "verb" in payload:
            await getattr(workflow, payload["verb"])(payload["of"], sender, "so")
        else:
            signal, added = Signal[payload["signal"]], payload["added"]
            incoming = Incoming(workflow, surface)
            await incoming.reacted(sender, payload["on"], signal, added=added, in_place=True)
        self.worked[event_id] = self.world.store.seq

    # -- what must hold ---------------------------------------------------------------------

    async def _remembered(
        self, name: str, verb: Callable[..., Any], *given: Any, **how: Any
    ) -> Any:
        reply = await verb(*given, **how)
        named, sender = (reply.proposal_id, given[2]) if name == "redeem" else given[:2]
        self.told.append((name, named, sender.id, reply))
        if name in ("reject", "roll_back", "withdraw") and reply.done and reply.state:
            self.acknowledged.setdefault(named, self.world.store.seq)
            self.stopped.add(named)
        return reply

    async def _looks(self) -> None:
        """Look at what was written since, and at every row; all is verified in the end."""
        since = self.looked
        for entry in await self.world.store.read(lambda tx: tx.audit.exported(since, 10_000)):
            self.looked, kind = entry["seq"], entry["kind"]
            self.frozen = kind == "frozen" or (self.frozen and kind != "thawed")
            if kind == "settled" and entry["details"].get("happened"):
                self.found_done.add(entry["proposal_id"])  # also where nobody waited for the answer
            self.in_force = entry["policy_digest"] if kind == "policy_adopted" else self.in_force
            if kind in _BEGINS and entry["details"].get("verb") != Verb.ROLL_BACK:
                self.wrong += self._wrongly_begun(entry)
        await self._verifies(whole=False)

    def _wrongly_begun(self, entry: Mapping[str, Any]) -> list[str]:
        """Say so where something began in a freeze, under a policy of before, or over a stop that
        somebody had been told of, or that an inbox had stored and nobody had worked."""
        kind, named, seq = entry["kind"], entry["proposal_id"], entry["seq"]
        wrong = [f"{kind} of {named} in a freeze"] if self.frozen else []
        if kind == "execute" and entry["policy_digest"] != self.in_force:
            wrong.append(f"{kind} of {named} under a policy of before")
        if self._acknowledged(named, seq):
            wrong.append(f"{kind} of {named} after its stop")
        return wrong + [
            f"{kind} of {named} over {event_id}"
            for event_id, (of, stops, since) in self.heard.items()
            if of == named and since < seq <= self.worked.get(event_id, seq)
            if kind == "execute" or not stops.takes_back
        ]

    def _acknowledged(self, named: str, seq: int) -> bool:
        return named not in self.found_done and seq > self.acknowledged.get(named, seq)


def _found(proposal_id: str, tx: Transaction) -> Proposal | None:
    return tx.proposals.get(proposal_id)


def _fitting(proposal: Proposal | None) -> str:
    """Return what may be done with something in this state."""
    if proposal is None:
        return _UNDECIDED
    execution = proposal.execution
    if proposal.permit_waits or (execution is not None and execution.by_agent):
        return _AGENT
    if execution is None:
        return _UNDECIDED
    if execution.outcome is Outcome.RUNNING:
        return _RUNNING
    return _WINDOW if execution.outcome is Outcome.DONE and not proposal.attention else _DOUBT
