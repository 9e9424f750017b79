"""Chat platforms in memory: what stands there whoever hears of it, and how they fail."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from bot.chat.surface import CardGone, SurfaceFailed
from tests.builders import the_people

PEOPLE = the_people()
FAR = 10**12


@dataclass
class Room:
    """One channel. `line` is how its events come: up, down, or dead, which nobody has noticed.

    `shown` is which version a message shows, `missed` and `again` are the events that a platform
    sends when the line is resumed, and until they are acknowledged. `well_turn` is since which turn
    of the loop nothing is wrong here.
    """

    name: str
    chance: random.Random
    line: str = "down"
    answers: bool = True
    failing: int = 0
    standing: dict[str, str] = field(default_factory=dict)
    all_of: dict[str, list[str]] = field(default_factory=dict)
    claims: dict[str, str] = field(default_factory=dict)
    emoji: dict[str, set[tuple[str, str]]] = field(default_factory=dict)
    missed: list[Callable[[Any], Any]] = field(default_factory=list)
    again: list[Callable[[Any], Any]] = field(default_factory=list)
    gone: frozenset[str] = frozenset()
    unsaid: bool = False
    permits: list[str] = field(default_factory=list)
    numbers: int = 0
    well_turn: int = FAR
    ever_gone: frozenset[str] = frozenset()
    shown: dict[str, int] = field(default_factory=dict)
    deleted: dict[str, int] = field(default_factory=dict)

    def number(self) -> int:
        self.numbers += 1
        return self.numbers

    def account(self, person: str) -> str:
        return PEOPLE[person].accounts.get(self.name, "")

    def person(self, account: str) -> str:
        found = (p for p in PEOPLE if self.account(p) == account)
        return next(found, "")

    async def asked(self) -> None:
        """Take a moment to answer, or fail."""
        for _ in range(self.chance.choice((0, 0, 1, 2, 4))):
            await asyncio.sleep(0)
        if not self.answers:
            raise SurfaceFailed(f"{self.name} does not answer")
        if self.failing > 0:
            self.failing -= 1
            raise SurfaceFailed(f"{self.name} failed")

    async def post(
        self, proposal_id: str, claim: str, now_ms: int, version: int = 0
    ) -> tuple[str, bool]:
        """Return where the card stands, and whether it stood there before."""
        await self.asked()
        stood = self.claims.get(claim)
        if stood in self.standing:
            self.shown[str(stood)] = version
            return str(stood), True
        number = self.number()
        made = f"{now_ms // 1000}.{number:06d}" if self.name == "slack" else str(10_000 + number)
        self.claims[claim], self.standing[made] = made, proposal_id
        self.shown[made] = version
        self.all_of.setdefault(proposal_id, []).append(made)
        if self.chance.random() < 0.1:
            raise SurfaceFailed("the answer is lost")
        return made, False

    async def edit(self, message_id: str, version: int = 0) -> None:
        await self.asked()
        if message_id not in self.standing:
            raise CardGone("deleted")
        self.shown[message_id] = version

    async def under(self, message_id: str) -> dict[str, frozenset[str]]:
        """Return who stands under ✅ and ❌."""
        await self.asked()
        if message_id not in self.standing:
            raise CardGone("deleted")
        stands = self.emoji.get(message_id, set())
        return {
            signal: frozenset(who for who, name in stands if name == signal)
            for signal in ("APPROVE", "STOP")
        }

    def member(self, person: str) -> bool | None:
        if self.unsaid or not self.answers:
            return None
        return person not in self.gone
