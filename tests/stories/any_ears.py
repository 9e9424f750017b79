"""Random lives over real ears: inboxes, readings and cards of two platforms that fail at times."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

from lifecycle.moment import ms_of
from lifecycle.policy import Policy
from lifecycle.ports import StoreUnavailable, Transaction
from lifecycle.proposal import Proposal
from lifecycle.quorum import may_stop
from lifecycle.review import Decision
from lifecycle.state import State
from tests.roads import trail_of
from tests.stories.any_deeds import the_policy
from tests.stories.any_laws import asked_of
from tests.stories.any_moments import Moments
from tests.stories.any_order import Before
from tests.stories.any_people import Human
from tests.stories.any_rooms import FAR

_DEEDS = {
    "submits": 1.6, "submits_again": 1, "withdraws": 0.1, "redeems": 3, "reports": 3, "turns": 1.2,
    "orchestrates": 0.5, "observes": 0.7, "answers": 3, "approves": 3, "rejects": 0.25, "types": 6,
    "reacts": 14, "takes_off": 4, "presses": 3, "replies": 2, "deletes": 2, "clears": 0.4,
    "freezes": 0.3, "thaws": 1, "adopts": 0.4, "settles": 1, "retries": 0.7, "leaves": 0.5,
    "does_a_job": 8, "shows": 5, "passes": 3, "dies": 1, "brings_back": 0.1, "redelivers": 4,
    "breaks": 1.5, "goes_dead": 1, "notices": 1, "returns": 2.5, "refuses": 0.8,
    "answers_again": 3, "loses_the_disk": 0.4, "loses_reads": 0.4, "loses_answers": 0.3,
    "loses_the_spool": 0.3, "in_the_midst": 2, "takes_off_unworked": 1, "at_its_close": 2,
    "misses_a_stop": 1, "stands_still": 0.7,
}  # fmt: skip
_QUIET = {"breaks": 0.3, "goes_dead": 0.2}
#: What a life is about: its deeds, and what it makes of documents and people.
_THEMES: Mapping[str, tuple[Mapping[str, float], Mapping[str, Any]]] = {
    "any": ({}, {}),
    "money": ({**_QUIET, "redeems": 9, "reports": 6, "submits": 4}, {"sums": 0.8, "stops": 0.03}),
    "evidence": ({**_QUIET, "observes": 4}, {"rests": True, "good": 0.85, "stops": 0.03}),
    "gaps": ({"breaks": 4, "goes_dead": 3, "returns": 5, "takes_off": 9}, {"stops": 0.12}),
    "disk": (
        {**_QUIET, "loses_the_disk": 3, "loses_reads": 2, "loses_answers": 2, "rejects": 3}, {},
    ),
    "policy": ({**_QUIET, "adopts": 4}, {}),
}  # fmt: skip
#: So many turns of the loop after it was heard a signal holds; after so many it was found.
_HELD, _FOUND = 5, 600
#: So long an answer about a card counts that came late, in ms, and a little more.
_READ_MS = 90_000
_OVERRULED = frozenset({"settled", "stop_let_go", "restored"})


class Ears(Moments):
    """One life in which all that people do comes over lines, or does not."""

    most = 12

    def __init__(self, world: Any, seed: int) -> None:
        super().__init__(world, seed)
        deeds, wishes = list(_THEMES.values())[seed % len(_THEMES)]
        self.deeds = _DEEDS | dict(deeds)
        vars(self).update(wishes)
        self.laws.more = self._about

    async def does_something(self) -> None:
        """Do one thing; where little is open, propose more."""
        few = len(self.laws.open) < 2 and self.chance.random() < 0.4
        deed = self.chance.choices(list(self.deeds), list(self.deeds.values()))[0]
        with suppress(StoreUnavailable):
            await getattr(self, "submits" if few or not self.proposed else deed)()
        await self.turns_of_the_loop(self.chance.choice((0, 1, 2, 5, 60, 60)))

    def _wrong_about(self, entry: Mapping[str, Any], before: Before) -> list[str]:
        """What takes a word back holds a beginning alone, and what is of no card yet nothing."""
        begins = entry["kind"] == "execute"
        own = (s for s in before.heard if not s.unplaced and (begins or not s.takes_back))
        return super()._wrong_about(entry, replace(before, heard=frozenset(own)))

    # -- what must hold of what people did ------------------------------------------------------

    def _about(self, tx: Transaction, entry: Mapping[str, Any], row: Proposal) -> Iterator[str]:
        policy = self.laws.in_force(tx, row)
        begins = entry["kind"] == "execute"
        closed = entry["reason"] == "window_closed_unopposed"
        trail = {each.event.kind for each in trail_of(tx, row.proposal_id)}
        claimed = entry["kind"] == "complete" and "commit_claimed" in trail  # that was judged then
        if policy is None or claimed or not (begins or closed):
            return
        if begins and entry["actor"]["kind"] == "person":
            yield from self._by_hand(tx, row)
        if not _OVERRULED & trail:
            stops = (h for h in self.humans if h.named == row.proposal_id and h.signal == "STOP")
            for human in stops:
                yield from self._over(tx, human, row, policy)

    def _by_hand(self, tx: Transaction, row: Proposal) -> Iterator[str]:
        """Enough of those who count have approved with their own hands what is asked now."""
        reviews = tx.reviews.of(row.proposal_id)
        counted = {r.person for r in reviews if r.counts and r.decision is Decision.APPROVE}
        mine = [h for h in self.humans if h.named == row.proposal_id and h.signal == "APPROVE"]
        if forged := counted - {each.person for each in mine}:
            yield f"{sorted(forged)} never approved"
        asked = asked_of(row)
        saw = {h.person for h in mine if h.saw is None or h.saw[0] is None or h.saw == asked}
        meant = {
            person for person in saw if not self._took_off([h for h in mine if h.person == person])
        }
        if len(counted & meant) < row.quorum:
            yield f"{row.quorum} must approve {asked}, and did {mine}"

    def _took_off(self, mine: list[Human]) -> bool:
        """Say whether somebody's one ✅ was surely heard to be taken off."""
        only = mine[0] if len(mine) == 1 else None
        if only is None or only.how != "emoji" or only.stands:
            return False
        return only.off_heard and self._was_heard(only, only.off_turn)

    def _was_heard(self, human: Human, turn: int) -> bool:
        """Say whether a signal came over a line that stood, over a disk that works, long enough
        ago."""
        room = self.rooms[human.surface]
        quiet = self.troubled < human.turn - _HELD and room.well_turn < human.turn
        return human.heard and quiet and self.turn - turn >= _HELD

    def _over(self, tx: Transaction, human: Human, row: Proposal, policy: Policy) -> Iterator[str]:
        """Nothing begins or closes over a ❌ that was heard, or that stood long enough."""
        if human.how != "emoji" or not human.stands or not self._able(human, row, policy):
            return
        room, card = self.rooms[human.surface], tx.cards.get(row.proposal_id, human.surface)
        known = card is not None and card.message_ids[-1:] == (human.message_id,)
        if card is None or not known or human.message_id not in room.standing:
            return
        since = self.turn - max(human.turn, room.well_turn, self.troubled)
        old = self.world.clock.now_ms() - human.at_ms > _READ_MS
        found = room.answers and not room.failing and since >= _FOUND and old
        posted = (card.posted_at_ms or 0) <= human.at_ms
        if found or (posted and self._was_heard(human, human.turn)):
            yield f"over {human}"

    def _able(self, human: Human, row: Proposal, policy: Policy | None = None) -> bool:
        """Say whether somebody could stop it under every policy, and never left."""
        gone = human.person in self.rooms[human.surface].ever_gone
        tools = [(each, each.tools.get(row.tool)) for each in self.laws.policies.values()]
        may = (t is None or may_stop(p, t, row.actor, human.person) is None for p, t in tools)
        there = policy is None or row.tool in policy.tools
        return not gone and there and all(may)

    # -- the end ----------------------------------------------------------------------------------

    async def left_alone(self) -> None:
        """Let all work again, be heard and be worked; then two days pass."""
        self.mode = "done"
        self.disk.mended()
        await self._takes_again()
        for room in self.rooms.values():
            room.answers, room.failing, room.gone, room.unsaid = True, 0, frozenset(), False
            if room.line == "dead":
                self.loses(room)
            if room.line == "down":
                self.connects(room.name)
        for _ in range(30):
            await self.redelivers()
            await self._goes_on(5)
        await self.thaws()
        for seconds in (1, 6, 31, 61, 901, 901, 7_200, 90_000, 90_000):
            await self._goes_on(seconds)
            await self.world.keeps_house()
            await self.world.workflow.recheck()
            await self.world.workflow.idle()
        self.wrong += [f"never worked: {stop}" for stop in self.law.heard._all.values()]
        self.wrong += [f"never replayed: {stop}" for stop in self.world.spool.stops]
        for proposal in await self._all():
            await self._is_over(proposal)

    async def _takes_again(self) -> None:
        """Let whoever put a policy in force see to it, where nobody heard that it was taken."""
        taken = await self.world.store.read(lambda tx: tx.flags.get("policy"))
        if taken in self.laws.policies and taken != self.law.law.policy.digest:
            await self.takes(self.laws.policies[taken])

    async def _goes_on(self, seconds: int) -> None:
        await self.ages(seconds)
        for answer in self.waiting:
            answer.done() or answer.set_result("done")
        self.begin(self.world.notifier.catch_up())
        await self.turns_of_the_loop(60)
        await self.world.notifier.deliver(self.world.store, 0)

    async def _is_over(self, proposal: Proposal) -> None:
        named = proposal.proposal_id
        if not (proposal.terminal or proposal.attention):
            self.wrong.append(f"{named} waits for ever: {proposal.state}")
        stopped = named in self.stopped and named not in self.found_done
        if proposal.state is State.COMPLETED and stopped:
            self.wrong.append(f"{named} was stopped, and is completed")
        if proposal.reason == "window_closed_unopposed":
            self.wrong += await self.world.store.read(lambda tx: list(self._lost(tx, proposal)))

    def _lost(self, tx: Transaction, row: Proposal) -> Iterator[str]:
        """Each ❌ on the card of what its window closed over stands in the trail."""
        entries = [each.event for each in trail_of(tx, row.proposal_id)]
        closed_ms = next(ms_of(each.at) for each in entries if each.kind == "complete")
        told = {(e.actor.id, e.surface) for e in entries if e.actor is not None}
        for human in self.humans:
            mine = human.named == row.proposal_id and human.signal == "STOP"
            if not mine or human.how != "emoji" or not human.stands or human.at_ms >= closed_ms:
                continue
            card = tx.cards.get(row.proposal_id, human.surface)
            known = card is not None and card.message_ids[-1:] == (human.message_id,)
            if self.rooms[human.surface].deleted.get(human.message_id, FAR) <= closed_ms:
                continue  # and with it every emoji
            lost = (human.person, human.surface) not in told
            if known and lost and self._able(human, row):
                yield f"nobody heard {human}, and it closed at {closed_ms}"

    async def looked_after(self) -> None:
        """Let the first policy hold again, under which those are there who see to it."""
        await self.takes(the_policy())
        await super().looked_after()
