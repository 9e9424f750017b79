"""Two people give and take off their ✅ on two platforms that fail at times: whose last word took
it off does not count, in whatever order what they did is worked."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path

import pytest

from bot.chat.discord import reactions
from bot.chat.hearing import unplaced as early
from bot.chat.hearing.signals import Signal
from lifecycle.review import Decision
from tests.builders import PROD, a_document
from tests.stage import staged
from tests.stories.any_deeds import the_policy
from tests.stories.any_ears import Ears
from tests.stories.any_rooms import Room

_LIVES = int(os.environ.get("SIGNOFF_LIVES", "24"))
_SEED = int(os.environ.get("SIGNOFF_SEED", "0"))
_STEPS = 40
_DEEDS = {
    "gives": 8, "takes_back": 5, "says": 2, "turns_on": 4, "fails": 3, "works_again": 3,
    "ages_on": 4, "reads": 1,
}  # fmt: skip


class OnTwo(Ears):
    """One proposal for two people, in a freeze, over lines that stand; `last` is the last word of
    each, True where it approves."""

    async def lived(self, steps: int, seed: int) -> None:
        self.last: dict[str, bool] = {}
        await self._begins()
        for _ in range(steps):
            deed = self.chance.choices(list(_DEEDS), list(_DEEDS.values()))[0]
            await getattr(self, deed)()
            await self.turns_of_the_loop(self.chance.choice((25, 40, 60)))
        await self.works_again()
        for _ in range(25):
            await self.redelivers()
            await self._goes_on(5)
        reviews = await self.world.store.read(lambda tx: tx.reviews.of("p1"))
        counted = {r.person for r in reviews if r.counts and r.decision is Decision.APPROVE}
        assert not {each for each in counted if not self.last[each]}, seed
        assert not self.wrong, seed

    async def turns_of_the_loop(self, turns: int) -> None:
        """No two things are worked in one millisecond."""
        for _ in range(turns):
            await super().turns_of_the_loop(1)
            self.world.clock.advance(0.001)

    async def _begins(self) -> None:
        self.others = asyncio.all_tasks()
        await self._serves(self.law)
        for name in self.rooms:
            self.connects(name)
        now_ms = self.world.clock.now_ms()
        document = a_document(PROD, proposal_id="p1", ts_ms=now_ms, approval_class="dual")
        raw, leila = json.dumps(document).encode(), self.world.sender("leila")
        await self.world.workflow.submit(raw, leila)
        for _ in range(12):  # an answer that was lost is asked for again
            await self.ages(20)
            await self.shows()
            await self.turns_of_the_loop(80)
        await self.world.workflow.freeze("so that nothing begins", self.world.sender("ana"))

    def _somewhere(self) -> tuple[Room, str, str]:
        room = self.a_room()
        return room, room.all_of["p1"][-1], self.chance.choice(("ana", "ben"))

    async def gives(self) -> None:
        room, at, person = self._somewhere()
        if (person, "APPROVE") not in room.emoji.get(at, ()):
            self._puts(room, "p1", at, person, Signal.APPROVE)
            self.last[person] = True

    async def takes_back(self) -> None:
        room, at, person = self._somewhere()
        if (person, "APPROVE") in room.emoji.get(at, ()):
            self._takes(room, at, (person, "APPROVE"))
            self.last[person] = False

    async def says(self) -> None:
        room, _, person = self._somewhere()
        self._did(person, "p1", "type", "APPROVE", room.name, "")
        self._send(self.surfaces[room.name].typed(person, "approve p1 right"))
        self.last[person] = True

    async def turns_on(self) -> None:
        await self.turns_of_the_loop(150)

    async def fails(self) -> None:
        """Let a platform answer nothing, or not say who anybody is."""
        room = self.a_room()
        if self.chance.random() < 0.5:
            room.answers = False
        else:
            room.unsaid = True

    async def works_again(self) -> None:
        for room in self.rooms.values():
            room.answers, room.unsaid = True, False

    async def ages_on(self) -> None:
        await self.ages(self.chance.choice((1, 2, 5, 12)))

    async def reads(self) -> None:
        self.begin(self.world.notifier.catch_up())


async def test_whoever_took_their_approval_back_last_does_not_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(early, "_PAUSES_S", (0.0,) * 4)
    monkeypatch.setattr(reactions, "_EARLY_S", (0.0,) * 4)
    for seed in range(_SEED, _SEED + _LIVES):
        async with staged("memory:", tmp_path, the_policy()) as world:
            await OnTwo(world, seed).lived(_STEPS, seed)
