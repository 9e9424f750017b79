"""Deeds in a random lawful order, and what must hold after each of them and at the end."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from bot.trail import _rows_behind, verified_in
from lifecycle.heard import HeardStop
from lifecycle.ports import Transaction
from lifecycle.proposal import Proposal, Verb
from lifecycle.state import State
from tests.stories.any_hands import Hands

_BEGINS = frozenset({"execute", "commit_claimed", "called_again"})
_DEEDS = {
    "submits": 5, "approves": 4, "rejects": 1, "freezes": 0.3, "thaws": 1, "adopts": 0.7,
    "dies": 1.2, "settles": 2, "retries": 1.5, "observes": 1, "hears": 0.7, "works": 1.5,
    "does_a_job": 6, "passes": 3, "answers": 3, "turns": 2, "loses_the_disk": 0.4, "shows": 5,
    "reacts": 10, "takes_off": 2, "presses": 2, "replies": 3, "deletes": 5, "catches_up": 4,
    "redeems": 4, "orchestrates": 1, "leaves": 1, "reports": 4, "withdraws": 0.3,
    "submits_again": 1, "brings_back": 0.2,
}  # fmt: skip
#: So seldom the whole chain is verified while somebody lives, and then at the end: what is wrong
#: with an entry stays, as no entry is ever changed; what is wrong with a row may be mended again.
_WHOLE = 10


@dataclass
class Frozen:
    """Whether everything is frozen, entry after entry."""

    on: bool


@dataclass(frozen=True)
class Before:
    """What stood at one moment, before a deed."""

    seq: int
    stopped: frozenset[str]
    heard: frozenset[HeardStop]
    frozen: Frozen
    spooled: frozenset[str] = frozenset()


class Disorder(Hands):
    """One life of a bot, in which anything may come at any time."""

    looks = 0

    async def lived(self, steps: int, seed: int) -> None:
        """Live so many steps, then alone, then looked after; nothing may go wrong meanwhile."""
        for _ in range(steps):
            await self.step()
            assert not self.wrong, seed
        await self.left_alone()
        assert not self.wrong, seed
        await self.looked_after()
        assert not self.wrong, seed

    async def step(self) -> None:
        """Do one thing, at least in part, and look."""
        before = await self.world.store.read(self._as_it_stands)
        await self.does_something()
        await self._looks_back(before)

    async def _looks_back(self, before: Before) -> None:
        """Look at what came of it."""
        entries = await self.world.store.read(lambda tx: tx.audit.exported(before.seq, 10_000))
        self.wrong += [words for entry in entries for words in self._wrong_about(entry, before)]
        await self._verifies(whole=self.looks % _WHOLE == 0)
        self.wrong += [
            f"{key} ({tool}) called {times} times"
            for (key, tool), times in self.calls.items()
            if times > (3 if self.tools[tool].idempotent else 1)
        ]

    async def _verifies(self, *, whole: bool) -> None:
        """Hold the rows against their trails, and verify the whole database if it is asked for."""
        self.looks += 1
        if whole:
            self.wrong += (await verified_in(self.world.store, None, lambda _: None)).problems
            return
        after = ""
        while page := await self.world.store.read(partial(_rows_behind, after)):
            after = page[-1][0]
            self.wrong += [words for _, problems in page for words in problems]

    async def does_something(self) -> None:
        """Do one thing, and let the loop turn a while or not at all."""
        deed = self.chance.choices(list(_DEEDS), list(_DEEDS.values()))[0]
        await getattr(self, deed if self.proposed else "submits")()
        await self.turns_of_the_loop(self.chance.choice((0, 1, 2, 5, 60, 60)))

    def _as_it_stands(self, tx: Transaction) -> Before:
        return Before(
            tx.audit.head()[0],
            frozenset(self.stopped),
            frozenset(stop for stop in self.law.heard._all.values()),
            Frozen(on=bool(tx.flags.get("freeze"))),
            self._spooled(),
        )

    def _spooled(self) -> frozenset[str]:
        return frozenset(str(stop.get("proposal_id")) for stop in self.world.spool.stops)

    def _wrong_about(self, entry: Mapping[str, Any], before: Before) -> list[str]:
        """Name what may not be begun: over a stop that stood before, or in a freeze."""
        kind, named = entry["kind"], entry["proposal_id"]
        before.frozen.on = kind == "frozen" or (before.frozen.on and kind != "thawed")
        if "digest_mismatch" in str(entry) or "changed the database" in str(entry):
            return [f"{entry} tells of somebody who wrote there, and nobody did"]
        if kind not in _BEGINS or entry["details"].get("verb") == Verb.ROLL_BACK:
            return []
        still = (stop for stop in before.heard if self.law.heard.get(stop.key) is not None)
        held = before.frozen.on or any(stop.proposal_id in (named, None) for stop in still)
        held = held or named in before.spooled & self._spooled()
        found = [f"{kind} of {named} while it stands still"] if held else []
        return found + ([f"{kind} of {named} after its stop"] if named in before.stopped else [])

    async def left_alone(self) -> None:
        """Let everything work again and two days pass: what then is open has called a person."""
        self.mode, self.failures = "done", 0
        self.channels.lost = self.channels.unread = frozenset()
        for _ in range(4):
            await self.answers()
        await self.thaws()
        while self.law.heard._all:
            await self.works()
        for seconds in (1, 6, 31, 61, 901, 901, 7_200, 90_000, 90_000):
            self.world.clock.advance(seconds)
            for answer in self.waiting:
                answer.done() or answer.set_result("done")
            await self.turns_of_the_loop(60)
            await self.world.keeps_house()
            await self.world.workflow.recheck()
            await self.world.workflow.idle()
        for proposal in await self._all():
            if not (proposal.terminal or proposal.attention):
                self.wrong.append(f"{proposal.proposal_id} waits for ever: {proposal.state}")
            lost = proposal.state is State.COMPLETED and proposal.proposal_id in self.stopped
            if lost and proposal.proposal_id not in self.found_done:
                self.wrong.append(f"{proposal.proposal_id} was stopped, and is completed")

    async def looked_after(self) -> None:
        """Let a person see to what calls for one: then everything ends."""
        for _ in range(3):
            for proposal in await self._all():
                if not proposal.terminal:
                    named, ana = proposal.proposal_id, self.world.sender("ana")
                    await self.world.workflow.settle(named, ana, happened=True)
                    await self.world.workflow.roll_back(named, ana, "no")
                    await self.world.workflow.idle()
            await self.world.passes(minutes=20)
        self.wrong += [f"{p.proposal_id} never ends" for p in await self._all() if not p.terminal]
        await self._verifies(whole=True)

    async def _all(self) -> list[Proposal]:
        return [
            proposal
            for number in range(1, self.proposed + 1)
            if (
                proposal := await self.world.store.read(
                    lambda tx, named=f"p{number}": tx.proposals.get(named)
                )
            )
        ]
