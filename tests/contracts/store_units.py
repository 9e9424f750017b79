"""A unit of a store is whole or undone, a view writes nothing, a closed store takes nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace

import pytest

from lifecycle.audit import GENESIS, broken_links
from lifecycle.ports import ProposalStore, StoreClosed, StoreUnavailable, Transaction
from lifecycle.state import State
from tests.builders import DAY_MS
from tests.contracts.store_examples import InStore, event, waiting


class UnitsContract(InStore):
    """Units, views and the end of a store."""

    async def test_a_unit_returns_its_value(self, store: ProposalStore) -> None:
        assert await store.write(lambda tx: 42) == 42

    async def test_a_unit_that_raises_is_undone_whole(self, store: ProposalStore) -> None:
        def unit(tx: Transaction) -> None:
            tx.proposals.add(waiting("p1"))
            tx.cards.want("p1", "terminal", 1)
            tx.audit.append(event())
            tx.flags.put("freeze", {"reason": "x"})
            raise KeyError("on purpose")

        with pytest.raises(KeyError, match="on purpose"):
            await store.write(unit)

        assert await store.read(lambda tx: tx.proposals.get("p1")) is None
        assert await store.read(lambda tx: tx.cards.of("p1")) == []
        assert await store.read(lambda tx: tx.audit.head()) == (0, GENESIS)
        assert await store.read(lambda tx: tx.flags.get("freeze")) is None

    async def test_an_undone_unit_puts_back_what_it_changed(self, store: ProposalStore) -> None:
        await self.filled(store, waiting("p1"))

        def unit(tx: Transaction) -> None:
            seen = waiting("p1")
            assert tx.proposals.save(replace(seen, version=2, state=State.REJECTED), seen)
            raise KeyError

        with pytest.raises(KeyError):
            await store.write(unit)

        assert await store.read(lambda tx: tx.proposals.get("p1")) == waiting("p1")

    async def test_an_undone_unit_takes_back_what_it_did_before_it_forgot_something(
        self, store: ProposalStore
    ) -> None:
        """An event that was heard in it comes again, and must not pass for a repeated one."""
        await store.write(lambda tx: tx.flags.first_time("discord", "long ago", 0))

        def unit(tx: Transaction) -> None:
            assert tx.flags.first_time("discord", "stop", DAY_MS - 1)
            assert tx.flags.first_time("discord", "later", DAY_MS)  # forgets what is a day old
            raise KeyError

        with pytest.raises(KeyError):
            await store.write(unit)

        assert await store.write(lambda tx: tx.flags.first_time("discord", "stop", DAY_MS))

    async def test_without_memory_nothing_of_a_unit_remains_and_the_next_is_taken(
        self, store: ProposalStore
    ) -> None:
        """Whoever stops something hears then that it is kept; another error would lose it."""

        def unit(tx: Transaction) -> None:
            tx.proposals.add(waiting("p1"))
            tx.audit.append(event())
            tx.flags.put("half", 1)
            raise MemoryError

        with pytest.raises(StoreUnavailable, match="there is no memory for it"):
            await store.write(unit)

        assert await store.read(lambda tx: tx.proposals.get("p1")) is None
        assert await store.read(lambda tx: tx.audit.head()) == (0, GENESIS)
        await store.write(lambda tx: tx.flags.put("whole", 1))
        flags = await store.read(lambda tx: (tx.flags.get("half"), tx.flags.get("whole")))
        assert flags == (None, 1)

    async def test_without_memory_a_view_cannot_be_read_and_the_next_one_can(
        self, store: ProposalStore
    ) -> None:
        def view(_tx: Transaction) -> None:
            raise MemoryError

        with pytest.raises(StoreUnavailable, match="cannot be read: there is no memory for it"):
            await store.read(view)

        assert await store.read(lambda tx: tx.flags.get("none")) is None

    async def test_the_others_of_a_commit_are_kept_when_one_raises(
        self, store: ProposalStore
    ) -> None:
        def good(name: str) -> Callable[[Transaction], None]:
            def unit(tx: Transaction) -> None:
                tx.proposals.add(waiting(name))
                tx.audit.append(event(proposal_id=name))

            return unit

        def bad(tx: Transaction) -> None:
            tx.proposals.add(waiting("bad"))
            tx.audit.append(event(proposal_id="bad"))
            raise KeyError

        outcomes = await asyncio.gather(
            *(store.write(unit) for unit in (good("p1"), bad, good("p2"), bad, good("p3"))),
            return_exceptions=True,
        )

        assert [type(outcome) for outcome in outcomes[1::2]] == [KeyError, KeyError]
        assert await self.asked(store, lambda tx: tx.proposals.waiting(0, 9)) == ["p1", "p2", "p3"]
        entries = await store.read(lambda tx: tx.audit.exported(0, 9))
        assert [entry["proposal_id"] for entry in entries] == ["p1", "p2", "p3"]
        assert broken_links(entries) == []

    async def test_units_run_in_the_order_in_which_they_were_handed_over(
        self, store: ProposalStore
    ) -> None:
        """Which of two emoji was given first is known by this alone, whatever else waits."""

        def noting(number: int) -> Callable[[Transaction], list[int]]:
            def unit(tx: Transaction) -> list[int]:
                tx.audit.append(event(proposal_id=f"p{number}"))
                before = tx.flags.get("handed_over") or []
                if number % 5 == 0:  # a large one is overtaken by nobody
                    tx.flags.put("large", "x" * 100_000)
                if number % 7 == 0:
                    raise KeyError(number)
                tx.flags.put("handed_over", [*before, number])
                return before

            return unit

        many = range(1, 200)
        handed_over = [asyncio.create_task(store.write(noting(number))) for number in many]
        seen = await asyncio.gather(*handed_over, return_exceptions=True)

        kept = [number for number in many if number % 7]
        assert await store.read(lambda tx: tx.flags.get("handed_over")) == kept
        for number, before in zip(many, seen, strict=True):
            if number % 7:
                assert before == [each for each in kept if each < number]
        entries = await store.read(lambda tx: tx.audit.exported(0, 999))
        assert [entry["proposal_id"] for entry in entries] == [f"p{each}" for each in kept]

    async def test_whoever_waits_is_told_in_that_order_too(self, store: ProposalStore) -> None:
        """What follows on a unit begins in the order of the units."""
        told: list[int] = []

        async def handed_over(number: int) -> None:
            told.append(await store.write(lambda _: number))

        await asyncio.gather(*map(handed_over, range(150)))

        assert told == list(range(150))

    async def test_a_cancelled_unit_ran_whole_or_not_at_all(self, store: ProposalStore) -> None:
        def unit(tx: Transaction) -> None:
            tx.proposals.add(waiting("p1"))
            tx.audit.append(event(proposal_id="p1"))

        task = asyncio.create_task(store.write(unit))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

        await store.write(lambda tx: tx.proposals.add(waiting("p2")))
        found = await store.read(lambda tx: tx.proposals.get("p1")) is not None
        head, _ = await store.read(lambda tx: tx.audit.head())
        assert (found, head) in ((True, 1), (False, 0))

    async def test_a_unit_that_stops_an_iteration_hangs_nobody(self, store: ProposalStore) -> None:
        with pytest.raises(RuntimeError):
            await store.write(lambda tx: next(iter(())))

        assert await store.write(lambda tx: 1) == 1

    async def test_a_view_must_not_write(self, store: ProposalStore) -> None:
        with pytest.raises(StoreUnavailable):
            await store.read(lambda tx: tx.flags.put("a", 1))

        assert await store.read(lambda tx: tx.flags.get("a")) is None

    async def test_a_view_raises_what_it_raises(self, store: ProposalStore) -> None:
        with pytest.raises(ValueError, match="mine"):
            await store.read(lambda tx: (_ for _ in ()).throw(ValueError("mine")))

    async def test_a_closed_store_takes_nothing_and_finishes_what_it_took(
        self, store: ProposalStore
    ) -> None:
        taken = asyncio.create_task(store.write(lambda tx: tx.flags.put("a", 1)))
        await asyncio.sleep(0.001)
        await store.close()

        await asyncio.wait_for(taken, 5)
        with pytest.raises(StoreClosed):
            await store.write(lambda tx: None)
        with pytest.raises(StoreClosed):
            await store.read(lambda tx: None)

    async def test_a_view_that_comes_while_the_store_closes_is_answered_or_refused(
        self, store: ProposalStore
    ) -> None:
        views: list[asyncio.Task[int]] = []
        closing = asyncio.create_task(store.close())
        while not closing.done():
            await asyncio.sleep(0)
            views.append(asyncio.create_task(store.read(lambda tx: 1)))

        answers = await asyncio.gather(*views, return_exceptions=True)

        assert [a for a in answers if a != 1 and not isinstance(a, StoreUnavailable)] == []
