"""What people did, as an onlooker would write it down: nothing of the law is asked."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Awaitable, Iterator
from dataclasses import dataclass, field
from typing import Any

from lifecycle.answers import Reply, Sender
from lifecycle.proposal import ActorKind
from lifecycle.workflow import Workflow

#: Answers after which nobody knows whether it was written all the same.
_UNSURE = frozenset({"audit_unavailable"})
NEVER = 10**12


@dataclass
class Done:
    """One thing that somebody did: when it began and when it was answered, in ticks of the book."""

    verb: str
    person: str
    proposal_id: str
    reason: str
    begun: int
    seq: int
    stood: Any
    settled: int = NEVER
    ended: Any = None
    reply: Reply | None = None
    by_person: bool = True

    def asked_at_some_time(self, asked: Any) -> bool:
        """Say whether that is what people were asked while it was on its way: what it was then,
        nobody knows before the answer."""
        judged = self.stood is not None and self.stood[0] is not None
        return not judged or self.settled == NEVER or asked in (self.stood, self.ended)

    @property
    def surely(self) -> bool:
        return self.reply is not None and self.reply.done

    @property
    def perhaps(self) -> bool:
        return self.reply is None or self.reply.done or self.reply.code in _UNSURE


@dataclass
class Book:
    """All of it, by proposal."""

    tick: int = 0
    seq: int = 0
    done: dict[str, list[Done]] = field(default_factory=lambda: defaultdict(list))
    stands: dict[str, Any] = field(default_factory=dict)
    at: dict[tuple[str, int], Any] = field(default_factory=dict)

    def begins(self, verb: str, sender: Sender, proposal_id: str, reason: str = "") -> Done:
        self.tick += 1
        by_person = sender.kind is ActorKind.PERSON
        stood = self.stands.get(proposal_id)
        deed = Done(verb, sender.id or "", proposal_id, reason, self.tick, self.seq, stood)
        deed.by_person = by_person
        self.done[proposal_id].append(deed)
        return deed

    def answered(self, deed: Done, reply: Reply | None) -> None:
        self.tick += 1
        deed.settled, deed.reply = self.tick, reply
        deed.ended = self.stands.get(deed.proposal_id)

    def died(self) -> None:
        """Whatever was under way is under way no more."""
        self.tick += 1
        for deed in self.all():
            deed.settled = min(deed.settled, self.tick)

    def all(self) -> Iterator[Done]:
        for deeds in self.done.values():
            yield from deeds

    def standing(self, proposal_id: str) -> dict[str, list[Done]]:
        """Return whose approval may stand, with what they did: what was surely taken back since is
        left out."""
        deeds = self.done[proposal_id]
        found: dict[str, list[Done]] = defaultdict(list)
        for given in deeds:
            if given.verb != "approve" or not given.perhaps or not given.by_person:
                continue
            since = [d for d in deeds if d.person == given.person and d.begun > given.settled]
            if not any(d.verb == "take_back" and d.surely for d in since):
                found[given.person].append(given)
        return found


class Watched(Workflow):
    """The law, with somebody at the door who writes down who goes in and what they are told."""

    def __init__(self, world: Any, book: Book) -> None:
        super().__init__(world)
        self.book = book

    async def approve(
        self, proposal_id: str, sender: Sender, reason: str = "", **how: Any
    ) -> Reply:
        acting = super().approve(proposal_id, sender, reason, **how)
        return await self._written_down("approve", acting, sender, proposal_id, reason)

    async def reject(self, proposal_id: str, sender: Sender, reason: str = "", **how: Any) -> Reply:
        acting = super().reject(proposal_id, sender, reason, **how)
        return await self._written_down("reject", acting, sender, proposal_id, reason)

    async def take_back(self, proposal_id: str, sender: Sender, **how: Any) -> Reply:
        acting = super().take_back(proposal_id, sender, **how)
        return await self._written_down("take_back", acting, sender, proposal_id)

    async def _written_down(
        self, verb: str, acting: Awaitable[Reply], sender: Sender, named: str, reason: str = ""
    ) -> Reply:
        deed = self.book.begins(verb, sender, named, reason)
        reply = await acting
        self.book.answered(deed, reply)
        return reply
