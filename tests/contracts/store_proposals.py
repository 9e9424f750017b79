"""A store gives an id once, saves only over what was seen, and finds a proposal by its likeness."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest

from lifecycle.ports import ProposalStore, StoreUnavailable, Transaction
from lifecycle.proposal import ActorKind, Identity, Proposal
from lifecycle.state import State
from tests.builders import NOW_MS
from tests.contracts.store_examples import InStore, executing, rejected, waiting


class ProposalsContract(InStore):
    """One proposal: kept, saved, found."""

    async def test_an_id_is_given_once(self, store: ProposalStore) -> None:
        await self.filled(store, waiting("p1"))

        with pytest.raises(StoreUnavailable):
            await self.filled(store, waiting("p1", tool="other"))

        assert await store.read(lambda tx: tx.proposals.get("p1")) == waiting("p1")

    async def test_what_was_kept_is_not_what_the_caller_goes_on_changing(
        self, store: ProposalStore
    ) -> None:
        mine = {"rows": [1]}
        await self.filled(store, waiting("p1", extra=mine))
        mine["rows"].append(2)

        found = await store.read(lambda tx: tx.proposals.get("p1"))

        assert found is not None
        assert found.extra == {"rows": [1]}

    @pytest.mark.parametrize(
        "seen",
        [waiting("p1", version=2), waiting("p1", state=State.EXECUTING), waiting("p2")],
        ids=["another version", "another state", "another proposal"],
    )
    @pytest.mark.parametrize("changes", [{}, {"document": b"{}"}], ids=["moved", "masked"])
    async def test_only_what_was_seen_can_be_saved(
        self, store: ProposalStore, seen: Proposal, changes: Mapping[str, Any]
    ) -> None:
        await self.filled(store, waiting("p1"))
        moved = replace(seen, version=3, state=State.REJECTED, **changes)

        assert not await store.write(lambda tx: tx.proposals.save(moved, seen))

        assert await store.read(lambda tx: tx.proposals.get("p1")) == waiting("p1")

    async def test_of_two_that_saw_the_same_one_wins(self, store: ProposalStore) -> None:
        await self.filled(store, waiting("p1"))
        seen = waiting("p1")
        moved = [replace(seen, version=2, explanation=words) for words in ("first", "second")]

        won = await asyncio.gather(
            *(store.write(lambda tx, new=new: tx.proposals.save(new, seen)) for new in moved)
        )

        assert won == [True, False]
        assert await store.read(lambda tx: tx.proposals.get("p1")) == moved[0]

    async def test_a_prefix_finds_what_begins_with_it_exactly(self, store: ProposalStore) -> None:
        names = ("a", "ab", "ab-1", "ab_1", "abc", "aB", "b")
        await self.filled(store, *map(waiting, names))

        found = await store.read(lambda tx: tx.proposals.beginning_with("ab", 9))
        few = await store.read(lambda tx: tx.proposals.beginning_with("ab", 2))

        assert found == ["ab", "ab-1", "ab_1", "abc"]
        assert few == ["ab", "ab-1"]

    async def test_what_is_no_text_names_no_proposal(self, store: ProposalStore) -> None:
        """A shell passes bytes on that are not UTF-8; JSON may hold half a surrogate pair."""
        await self.filled(store, waiting("ab"))

        for given in ("ab\udcff", "\ud800"):
            assert await store.read(lambda tx, it=given: tx.proposals.get(it)) is None
            assert not await store.read(lambda tx, it=given: tx.proposals.beginning_with(it, 9))

    async def test_every_proposal_there_ever_was_is_gone_through_in_pages(
        self, store: ProposalStore
    ) -> None:
        await self.filled(store, *map(waiting, ("b", "A", "ab", "a-1")))

        first = await store.read(lambda tx: tx.proposals.ids_after("", 3))
        rest = await store.read(lambda tx: tx.proposals.ids_after(first[-1], 3))

        assert (first, rest) == (["A", "a-1", "ab"], ["b"])

    async def test_a_twin_is_the_same_content_of_the_same_proposer_still_open(
        self, store: ProposalStore
    ) -> None:
        nour = Identity(ActorKind.AGENT, "nour")
        await self.filled(
            store,
            rejected("p1", content_digest="c"),
            executing("p2", content_digest="c"),
            waiting("p3", content_digest="c", actor=nour),
        )

        twin = await store.read(lambda tx: tx.proposals.open_like("leila", "c"))

        assert twin is not None
        assert twin.proposal_id == "p2"
        assert await store.read(lambda tx: tx.proposals.open_like("leila", "d")) is None
        assert await store.read(lambda tx: tx.proposals.count_open("leila")) == 1

    async def test_a_persons_refusal_binds_its_proposer_from_a_moment_on(
        self, store: ProposalStore
    ) -> None:
        nour = Identity(ActorKind.AGENT, "nour")
        await self.filled(
            store,
            rejected("old", likeness_digest="l", decided_at_ms=NOW_MS - 2),
            rejected("new", likeness_digest="l"),
            rejected("gone", "withdrawn", likeness_digest="l", decided_at_ms=NOW_MS + 1),
            rejected("robot", "rejected_by_orchestrator", likeness_digest="k"),
            rejected("back", "rolled_back_by_person", likeness_digest="b", tool="other"),
            rejected("ahead", likeness_digest="l", tool="third", decided_at_ms=NOW_MS + 1),
            rejected("older", likeness_digest="as another version read it", content_digest="c"),
            rejected("nours", actor=nour, likeness_digest="n", content_digest="n", tool="fourth"),
        )

        def like(
            likeness: str, since_ms: int, until_ms: int = NOW_MS, content: str = "none"
        ) -> Callable[[Transaction], Any]:
            def view(tx: Transaction) -> Any:
                between = (since_ms, until_ms)
                found = tx.proposals.refused_like("leila", likeness, content, between)
                return found and found.proposal_id

            return view

        assert await store.read(like("l", NOW_MS - 9)) == "new"
        assert await store.read(like("l", NOW_MS)) == "new"
        assert await store.read(like("l", NOW_MS + 1)) is None
        assert await store.read(like("l", NOW_MS - 9, NOW_MS + 1)) == "ahead"
        assert await store.read(like("k", 0)) is None
        assert await store.read(like("b", 0)) == "back"
        assert await store.read(like("none", NOW_MS, content="c")) == "older"
        assert await store.read(like("l", NOW_MS, content="c")) == "new"
        assert await store.read(like("none", NOW_MS + 1, content="c")) is None
        assert await store.read(like("none", 0, NOW_MS - 1, content="c")) is None
        assert await store.read(like("n", 0)) is None
        assert await store.read(like("none", 0, content="n")) is None
        lately = [("send-email", NOW_MS), ("send-email", NOW_MS + 1), ("other", 0), ("fourth", 0)]
        told = [
            await store.read(lambda tx, t=t, s=s: tx.proposals.refused_tool_lately("leila", t, s))
            for t, s in lately
        ]
        assert told == [True, False, True, False]
