"""What people do in rooms, written down as it was: whoever hears of it, whatever comes of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from bot.chat.hearing.catching_up import CatchingUp
from bot.chat.hearing.lanes import Lanes
from bot.chat.hearing.signals import Signal
from lifecycle.answers import Reply
from lifecycle.permit import unverified
from tests.builders import REFUND, a_document
from tests.stories.any_lines import Lines
from tests.stories.any_rooms import FAR, Room
from tests.stories.resting_on_evidence import CONDITION

_WHO = ("ana", "ben", "dee", "ana", "ben", "olga", "cal")
_WORDS = (
    "approve {} right", "approve {} right", "approve {}", "approve {} so", "roll-back {} no",
    "retry {}", "settle {} happened", "settle {} did-not-happen", "freeze why", "thaw", "status",
)  # fmt: skip
_SIGNALS = {"approve": "APPROVE", "reject": "STOP", "roll-back": "STOP"}
_SUMS = ("1.00", "9000.00", "9999.00", "10000.00")


@dataclass
class Human:
    """What somebody did with their hands. `heard` is whether it came over a line that stood, `saw`
    what the card asked them; `off_turn` is when they took it off again."""

    turn: int
    at_ms: int
    person: str
    named: str
    how: str
    signal: str
    surface: str
    message_id: str
    heard: bool
    saw: Any = None
    off_turn: int = FAR
    off_heard: bool = False

    @property
    def stands(self) -> bool:
        return self.off_turn == FAR


class People(Lines):
    """Deeds of people. `stops` is how many of their signals are ❌."""

    stops, good, sums, rests, dual = 0.08, 0.6, 0.0, False, False

    def __init__(self, world: Any, seed: int) -> None:
        super().__init__(world, seed)
        self.humans: list[Human] = []

    def some(self) -> str:
        """Return a proposal, mostly one that is open."""
        known = sorted(self.laws.open)
        if known and self.chance.random() < 0.85:
            return self.chance.choice(known[-3:])
        return super().some()

    def _signal(self) -> Signal:
        return Signal.STOP if self.chance.random() < self.stops else Signal.APPROVE

    def _shown(self) -> tuple[Room, str, str] | None:
        """Return a card that stands in a room, mostly the last of its proposal."""
        room, named = self.a_room(), self.some()
        stood = [each for each in room.all_of.get(named, ()) if each in room.standing]
        if not stood:
            return None
        last = self.chance.random() < 0.9
        return room, named, stood[-1] if last else self.chance.choice(stood)

    def _did(self, person: str, named: str, how: str, signal: str, surface: str, at: str) -> None:
        room = self.rooms.get(surface)
        heard = room is None or room.line == "up"
        human = Human(
            *(self.turn, self.world.clock.now_ms(), person, named, how, signal, surface, at, heard)
        )
        if room is not None and at:
            human.saw = self.book.at.get((named, room.shown.get(at, 0)))
        self.humans.append(human)

    def _send(self, made: Callable[[], Any] | Any) -> None:
        if made is not None:
            self.begin(made() if callable(made) else made)

    async def reacts(self) -> None:
        found, person, signal = self._shown(), self.chance.choice(_WHO), self._signal()
        if found is None or not found[0].account(person):
            return
        self._puts(*found, person, signal)

    def _puts(self, room: Room, named: str, at: str, person: str, signal: Signal) -> None:
        under = room.emoji.setdefault(at, set())
        if (person, signal.name) not in under:
            self._did(person, named, "emoji", signal.name, room.name, at)
            under.add((person, signal.name))
            self._send(self.surfaces[room.name].reaction(at, person, signal, added=True))

    async def takes_off(self) -> None:
        found = self._shown()
        under = found[0].emoji.get(found[2]) if found is not None else None
        if found is None or not under:
            return
        self._takes(found[0], found[2], self.chance.choice(sorted(under)))

    def _takes(self, room: Room, at: str, taken: tuple[str, str]) -> None:
        person, name = taken
        room.emoji[at].discard(taken)
        for each in self._standing(at):
            if (each.person, each.signal) == taken:
                each.off_turn, each.off_heard = self.turn, room.line == "up"
        self._send(self.surfaces[room.name].reaction(at, person, Signal[name], added=False))

    async def clears(self) -> None:
        """Let a moderator take all emoji off: no review is changed by that."""
        found = self._shown()
        if found is None or found[0].name != "discord":
            return
        room, _, at = found
        room.emoji.pop(at, None)
        for each in self._standing(at):
            each.how = "cleared"
        self.surfaces["discord"].cleared(at)

    def _standing(self, at: str) -> list[Human]:
        return [h for h in self.humans if h.message_id == at and h.how == "emoji" and h.stands]

    async def presses(self) -> None:
        found, person, signal = self._shown(), self.chance.choice(_WHO), self._signal()
        if found is None or found[0].line != "up" or not found[0].account(person):
            return
        room, named, at = found
        self._did(person, named, "press", signal.name, room.name, at)
        why = self.chance.choice(("", "so"))
        self._send(self.surfaces[room.name].pressed(at, person, signal, why))

    async def types(self) -> None:
        room, named, person = self.a_room(), self.some(), self.chance.choice(_WHO)
        words = self.chance.choice(_WORDS).format(named)
        if room.account(person):
            verb = words.split()[0]
            self._did(person, named, "type", _SIGNALS.get(verb, verb), room.name, "")
            self.found_done |= {named} if words.endswith(" happened") else set()
            self._send(self.surfaces[room.name].typed(person, words))

    async def approves(self) -> None:
        named, person = self.some(), self.chance.choice(("ana", "ben", "dee"))
        self._did(person, named, "type", "APPROVE", "terminal", "")
        self.begin(self._at_the_prompt(named, person))

    async def _at_the_prompt(self, named: str, person: str) -> Reply:
        workflow = self.world.workflow
        await CatchingUp(workflow, "terminal", Lanes(whole=True)).elsewhere.heard_in_time(named)
        return await workflow.approve(named, self.world.sender(person), "right")

    async def rejects(self) -> None:
        named, person = self.some(), self.chance.choice(("ana", "ben", "olga", "cal"))
        self._did(person, named, "type", "STOP", "terminal", "")
        rejecting = self.world.workflow.reject(named, self.world.sender(person), "no")
        self.begin(rejecting, lambda: self.stopped.add(named))

    async def replies(self) -> None:
        found, person = self._shown(), self.chance.choice(_WHO)
        if found is not None and found[0].account(person):
            room, _, at = found
            self._send(self.surfaces[room.name].replied(person, at, "because of the price"))

    async def deletes(self) -> None:
        found = self._shown()
        if found is not None:
            room, _, at = found
            room.standing.pop(at, None)
            room.deleted[at] = self.world.clock.now_ms()
            self._send(self.surfaces[room.name].deleted(at))

    # -- agents and sources -------------------------------------------------------------------

    async def _submitted(self, document: dict[str, Any]) -> None:
        named = document["proposal_id"]
        if self.documents.get(named) is document:  # and no copy of an earlier one
            document = await self._as_wished(document)
            self.documents[named] = document
        await super()._submitted(document)

    async def _as_wished(self, document: dict[str, Any]) -> dict[str, Any]:
        """Make of a document what this life is about."""
        refunds = document.get("tool") == "issue-refund"
        if not refunds and self.chance.random() < self.sums:
            told = {"proposal_id": document["proposal_id"], "ts_ms": document["ts_ms"]}
            money = {"amount": "1.00", "currency": "USD", "note": f"number {self.proposed}"}
            document, refunds = a_document(REFUND, **told, parameters=money), True
        if refunds:
            amount = {"amount": self.chance.choice(_SUMS)}
            document = {**document, "parameters": {**document["parameters"], **amount}}
        if self.dual:
            document = {**document, "approval_class": "dual"}
        if self.rests and not document.get("preconditions"):
            await self.observes(good=True)
            document = {**document, "preconditions": [CONDITION]}
        return document

    async def observes(self, *, good: bool | None = None) -> None:
        seen = self.chance.random() < self.good if good is None else good
        await super().observes(good=seen)

    async def redeems(self) -> None:
        """Use a permit, mostly one of what is open."""
        known = [token for room in self.rooms.values() for token in room.permits]
        good = [each for each in known if unverified(each).proposal_id in self.laws.open]
        if not known:
            return
        token = self.chance.choice(good if good and self.chance.random() < 0.85 else known)
        document = self.documents.get(unverified(token).proposal_id, {})  # none of a copy
        parameters = document.get("parameters", {}) if self.chance.random() < 0.9 else {}
        leila = self._at(self.world.sender("leila"))
        self.begin(self.world.workflow.redeem(token, parameters, leila))
