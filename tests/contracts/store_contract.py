"""What every store owes the law. A test module a store says how one is opened."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from lifecycle.audit import GENESIS, AuditEvent, broken_links
from lifecycle.ports import ProposalStore, StoreUnavailable, Transaction
from lifecycle.proposal import (
    ActorKind,
    Attention,
    Execution,
    Identity,
    KeptStop,
    Outcome,
    Proposal,
    Verb,
)
from lifecycle.records import Card, EvidencePacket, Message, Money, PermitRecord, Task
from lifecycle.review import Decision, Review
from lifecycle.state import State
from lifecycle.verdict import Verdict
from tests.builders import ANA, DAY_MS, NOW_MS, POLICY_DIGEST, a_document, a_proposal

MINUTE_MS = 60_000
VERDICT = Verdict((), NOW_MS, POLICY_DIGEST)


def waiting(name: str, **changes: Any) -> Proposal:
    """Return a pending proposal of this id."""
    return a_proposal(a_document(proposal_id=name), **changes)


def approved(name: str, **changes: Any) -> Proposal:
    """Return a sentinel_approved proposal of this id."""
    return waiting(name, state=State.SENTINEL_APPROVED, verdict=VERDICT, **changes)


def executing(
    name: str,
    closes_at_ms: int | None = NOW_MS,
    outcome: Outcome = Outcome.DONE,
    verb: Verb = Verb.EXECUTE,
    **changes: Any,
) -> Proposal:
    """Return an executing proposal of this id."""
    execution = Execution(verb, 1, outcome, window_closes_at_ms=closes_at_ms)
    return waiting(name, state=State.EXECUTING, verdict=VERDICT, execution=execution, **changes)


def rejected(name: str, reason: str = "rejected_by_person", **changes: Any) -> Proposal:
    """Return a proposal that ended at noon."""
    ended = {"state": State.REJECTED, "reason": reason, "decided_at_ms": NOW_MS, "decided_by": ANA}
    return waiting(name, **(ended | changes))


def ended(state: State, at_ms: int) -> dict[str, Any]:
    """Return the changes with which a proposal ends."""
    return {"state": state, "reason": "x", "decided_at_ms": at_ms, "decided_by": ANA}


def event(kind: str = "moved", **changes: Any) -> AuditEvent:
    """Return an audit event."""
    return AuditEvent(**({"at": "2026-03-02T12:00:00.000Z", "kind": kind} | changes))


def ids(proposals: Any) -> list[str]:
    """Return the ids in order."""
    return [proposal.proposal_id for proposal in proposals]


class StoreContract:
    """Subclass it beside a fixture `store`."""

    async def filled(self, store: ProposalStore, *proposals: Proposal) -> None:
        """Add proposals in one unit."""

        def unit(tx: Transaction) -> None:
            for proposal in proposals:
                tx.proposals.add(proposal)

        await store.write(unit)

    async def asked(self, store: ProposalStore, view: Callable[[Transaction], Any]) -> list[str]:
        """Return the ids that a question answers with."""
        return ids(await store.read(view))

    # -- units ----------------------------------------------------------------------------

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
        with pytest.raises(StoreUnavailable):
            await store.write(lambda tx: None)
        with pytest.raises(StoreUnavailable):
            await store.read(lambda tx: None)

    # -- proposals ------------------------------------------------------------------------

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

    async def test_a_persons_refusal_binds_from_a_moment_on(self, store: ProposalStore) -> None:
        await self.filled(
            store,
            rejected("old", likeness_digest="l", decided_at_ms=NOW_MS - 2),
            rejected("new", likeness_digest="l"),
            rejected("gone", "withdrawn", likeness_digest="l", decided_at_ms=NOW_MS + 1),
            rejected("robot", "rejected_by_orchestrator", likeness_digest="k"),
            rejected("back", "rolled_back_by_person", likeness_digest="b", tool="other"),
        )

        def like(likeness: str, since_ms: int) -> Callable[[Transaction], Any]:
            def view(tx: Transaction) -> Any:
                found = tx.proposals.refused_like("leila", likeness, since_ms)
                return found and found.proposal_id

            return view

        assert await store.read(like("l", NOW_MS - 9)) == "new"
        assert await store.read(like("l", NOW_MS)) == "new"
        assert await store.read(like("l", NOW_MS + 1)) is None
        assert await store.read(like("k", 0)) is None
        assert await store.read(like("b", 0)) == "back"
        lately = [("send-email", NOW_MS), ("send-email", NOW_MS + 1), ("other", 0), ("none", 0)]
        told = [
            await store.read(lambda tx, t=t, s=s: tx.proposals.refused_tool_lately("leila", t, s))
            for t, s in lately
        ]
        assert told == [True, False, True, False]

    async def test_what_waits_is_listed_attention_first_then_by_deadline(
        self, store: ProposalStore
    ) -> None:
        await self.filled(
            store,
            waiting("late", deadline_ms=NOW_MS + 9),
            approved("soon", deadline_ms=NOW_MS + 1),
            waiting("look", deadline_ms=NOW_MS + 99, attention=Attention.CARD_UNDELIVERED),
            executing("run"),
            rejected("gone"),
        )

        listed = await self.asked(store, lambda tx: tx.proposals.waiting(0, 9))
        page = await self.asked(store, lambda tx: tx.proposals.waiting(1, 1))

        assert listed == ["look", "soon", "late"]
        assert page == ["soon"]
        assert await store.read(lambda tx: tx.proposals.count_waiting()) == 3

    async def test_what_executes_is_listed_attention_first_then_by_window(
        self, store: ProposalStore
    ) -> None:
        await self.filled(
            store,
            executing("none", None),
            executing("late", NOW_MS + 9),
            executing("soon", NOW_MS + 1),
            executing("look", NOW_MS + 99, attention=Attention.OVERDUE),
            waiting("wait"),
        )

        listed = await self.asked(store, lambda tx: tx.proposals.executing(0, 9))

        assert listed == ["look", "soon", "late", "none"]
        assert await self.asked(store, lambda tx: tx.proposals.executing(3, 9)) == ["none"]
        assert await store.read(lambda tx: tx.proposals.count_executing()) == 4

    async def test_only_windows_that_nothing_holds_back_are_due(self, store: ProposalStore) -> None:
        stop = KeptStop("ana", "no", NOW_MS, "terminal")
        held = [
            executing(f"held-{attention}", attention=attention)
            for attention in Attention
            if attention not in (Attention.OVERDUE, Attention.CARD_UNDELIVERED)
        ]
        await self.filled(
            store,
            executing("due", NOW_MS),
            executing("first", NOW_MS - 5, attention=Attention.OVERDUE),
            executing("card", NOW_MS - 1, attention=Attention.CARD_UNDELIVERED),
            executing("later", NOW_MS + 1),
            executing("back-off", NOW_MS - 9, retry_at_ms=NOW_MS + 2),
            executing("windowless", None),
            executing("running", NOW_MS, Outcome.RUNNING),
            executing("committing", NOW_MS, verb=Verb.COMMIT),
            executing("stopped", NOW_MS, kept_stop=stop),
            *held,
        )

        def due(now_ms: int, limit: int = 9) -> Callable[[Transaction], Any]:
            return lambda tx: tx.proposals.due_to_close(now_ms, limit)

        assert await self.asked(store, due(NOW_MS)) == ["first", "card", "due"]
        assert await self.asked(store, due(NOW_MS, 1)) == ["first"]
        assert await self.asked(store, due(NOW_MS + 2)) == [
            "first",
            "card",
            "due",
            "later",
            "back-off",
        ]
        assert await store.read(lambda tx: tx.proposals.next_close_ms()) == NOW_MS - 5

    async def test_without_open_windows_none_closes_next(self, store: ProposalStore) -> None:
        await self.filled(store, executing("running", NOW_MS, Outcome.RUNNING))

        assert await store.read(lambda tx: tx.proposals.next_close_ms()) is None

    async def test_what_waited_past_its_deadline_is_due_to_expire(
        self, store: ProposalStore
    ) -> None:
        await self.filled(
            store,
            waiting("due", deadline_ms=NOW_MS),
            approved("longer", deadline_ms=NOW_MS - 1),
            waiting("later", deadline_ms=NOW_MS + 1),
            executing("run", deadline_ms=NOW_MS - 9),
        )

        found = await self.asked(store, lambda tx: tx.proposals.due_to_expire(NOW_MS, 9))

        assert found == ["longer", "due"]

    async def test_what_was_approved_and_has_not_begun_is_ready(self, store: ProposalStore) -> None:
        await self.filled(
            store,
            approved("b", opener=ANA),
            approved("a", opener=ANA),
            approved("asks"),
            approved("agent", opener=ANA, permit_waits=True),
            executing("run", opener=ANA),
        )

        assert await self.asked(store, lambda tx: tx.proposals.ready_to_open(9)) == ["a", "b"]
        assert await self.asked(store, lambda tx: tx.proposals.ready_to_open(9, "a")) == ["b"]

    async def test_what_a_dead_process_left_is_found(self, store: ProposalStore) -> None:
        await self.filled(
            store,
            waiting("young", created_at_ms=NOW_MS + 1),
            waiting("old"),
            waiting("answered", verdict=VERDICT),
            executing("b", None, Outcome.RUNNING),
            executing("a", NOW_MS, Outcome.RUNNING, Verb.COMMIT),
            executing("done"),
        )

        assert await self.asked(store, lambda tx: tx.proposals.unchecked(9)) == ["old", "young"]
        assert await self.asked(store, lambda tx: tx.proposals.in_flight(9)) == ["a", "b"]
        assert await self.asked(store, lambda tx: tx.proposals.in_flight(9, "a")) == ["b"]

    async def test_open_ones_checked_under_another_policy_are_found(
        self, store: ProposalStore
    ) -> None:
        await self.filled(
            store,
            waiting("never"),
            approved("before", checked_policy_digest="a"),
            executing("same", checked_policy_digest="b"),
            executing("after", checked_policy_digest="c"),
            rejected("gone", checked_policy_digest="a"),
        )

        found = await self.asked(store, lambda tx: tx.proposals.checked_under_other("b", 9))
        one = await self.asked(store, lambda tx: tx.proposals.checked_under_other("b", 1))

        assert found == ["before", "after"]
        assert one == ["before"]

    async def test_reasons_are_waited_for_until_they_are_due(self, store: ProposalStore) -> None:
        await self.filled(
            store,
            rejected("due", reason_due_ms=NOW_MS),
            rejected("first", reason_due_ms=NOW_MS - 1),
            rejected("later", reason_due_ms=NOW_MS + 1),
            rejected("told"),
            executing("open", reason_due_ms=NOW_MS - 1),
        )

        found = await self.asked(store, lambda tx: tx.proposals.reasons_due(NOW_MS, 9))

        assert found == ["first", "due"]

    async def test_people_are_reminded_after_three_quarters_of_the_time(
        self, store: ProposalStore
    ) -> None:
        until_ms = NOW_MS + 100
        await self.filled(
            store,
            approved("asks", deadline_ms=until_ms),
            approved("told", deadline_ms=until_ms, reminded_at_ms=NOW_MS),
            approved("opened", deadline_ms=until_ms, opener=ANA),
            approved("long", deadline_ms=NOW_MS + DAY_MS),
        )

        def remind(now_ms: int) -> Callable[[Transaction], Any]:
            return lambda tx: tx.proposals.to_remind(now_ms, 9)

        assert await self.asked(store, remind(NOW_MS + 74)) == []
        assert await self.asked(store, remind(NOW_MS + 75)) == ["asks"]
        assert await self.asked(store, remind(NOW_MS + 100)) == []

    async def test_attention_outlives_the_end(self, store: ProposalStore) -> None:
        await self.filled(
            store,
            rejected("end", attention=Attention.ENVELOPE_EXCEEDED, created_at_ms=NOW_MS + 1),
            executing("run", attention=Attention.OVERDUE),
            waiting("calm"),
        )

        assert await self.asked(store, lambda tx: tx.proposals.with_attention(9)) == ["run", "end"]

    async def test_evidence_leads_to_the_open_proposals_that_name_it(
        self, store: ProposalStore
    ) -> None:
        await self.filled(store, waiting("b"), waiting("a"), rejected("gone"))

        def bind(tx: Transaction) -> None:
            for name in ("b", "a", "gone"):
                tx.proposals.bind_evidence(name, ["e1", f"only-{name}"])
                tx.proposals.bind_evidence(name, ["e1"])

        await store.write(bind)

        assert await self.asked(store, lambda tx: tx.proposals.bound_to("e1", 9)) == ["a", "b"]
        assert await self.asked(store, lambda tx: tx.proposals.bound_to("e1", 1)) == ["a"]
        assert await self.asked(store, lambda tx: tx.proposals.bound_to("only-b", 9)) == ["b"]
        assert await self.asked(store, lambda tx: tx.proposals.bound_to("e2", 9)) == []

    # -- reviews --------------------------------------------------------------------------

    async def test_reviews_stay_and_approvals_can_become_void(self, store: ProposalStore) -> None:
        decisions = [
            Review("p1", "ana", Decision.APPROVE, "", NOW_MS, "terminal", event_id="e1"),
            Review("p1", "ben", Decision.APPROVE, "fine", NOW_MS + 1, "discord", found_late=True),
            Review("p1", "ana", Decision.REJECT, "", NOW_MS + 2, "terminal"),
            Review("p1", "ana", Decision.ROLL_BACK, "", NOW_MS + 3, "terminal"),
        ]
        await self.filled(store, waiting("p1"), waiting("p2"))

        def decide(tx: Transaction) -> list[int]:
            for review in decisions:
                tx.reviews.add(review)
            return [
                tx.reviews.void("p1", "ana", "taken back"),
                tx.reviews.void("p1", "ana", "taken back again"),
                tx.reviews.void("p1", None, "policy changed"),
                tx.reviews.void("p2", None, "policy changed"),
            ]

        assert await store.write(decide) == [1, 0, 1, 0]
        await store.write(lambda tx: tx.reviews.give_reason("p1", "ana", "wrong customer"))

        assert await store.read(lambda tx: tx.reviews.of("p2")) == []
        assert await store.read(lambda tx: tx.reviews.of("p1")) == [
            replace(decisions[0], void_why="taken back"),
            replace(decisions[1], void_why="policy changed"),
            decisions[2],
            replace(decisions[3], reason="wrong customer"),
        ]

    @pytest.mark.parametrize(
        "orphan",
        [
            lambda tx: tx.reviews.add(Review("no", "ana", Decision.APPROVE, "", 0, "terminal")),
            lambda tx: tx.cards.want("no", "terminal", 1),
            lambda tx: tx.cards.put(Card("no", "terminal", 1)),
            lambda tx: tx.permits.add(PermitRecord("x", "no", "execute", 1, "t", 0)),
            lambda tx: tx.spending.add("leila", "no", [Money("EUR", Decimal(1))]),
            lambda tx: tx.proposals.bind_evidence("no", ["e1"]),
        ],
        ids=["review", "card wanted", "card", "permit", "spending", "binding"],
    )
    async def test_nothing_hangs_on_a_proposal_that_does_not_exist(
        self, store: ProposalStore, orphan: Callable[[Transaction], Any]
    ) -> None:
        with pytest.raises(StoreUnavailable):
            await store.write(orphan)

    # -- the chain ------------------------------------------------------------------------

    async def test_the_chain_grows_entry_by_entry(self, store: ProposalStore) -> None:
        details = {"b": [1, 2.5, None], "a": {"ä": "x"}, "whole": 1.0}

        def unit(tx: Transaction) -> Any:
            first = tx.audit.append(event("moved", proposal_id="p1", actor=ANA, details=details))
            return first, tx.audit.append(event("note", reason="why"))

        first, second = await store.write(unit)
        third = await store.write(lambda tx: tx.audit.append(event("moved", proposal_id="p1")))

        assert [entry.seq for entry in (first, second, third)] == [1, 2, 3]
        assert (second.prev_hash, third.prev_hash) == (first.entry_hash, second.entry_hash)
        assert await store.read(lambda tx: tx.audit.head()) == (3, third.entry_hash)
        assert await store.read(lambda tx: tx.audit.of("p1")) == [first, third]
        entries = await store.read(lambda tx: tx.audit.exported(0, 9))
        assert broken_links(entries, third.entry_hash) == []
        assert entries == [entry.as_json() for entry in (first, second, third)]
        assert await store.read(lambda tx: tx.audit.exported(1, 1)) == [second.as_json()]

    # -- cards and messages ---------------------------------------------------------------

    async def test_cards_are_stale_until_they_show_what_is_wanted(
        self, store: ProposalStore
    ) -> None:
        await self.filled(store, waiting("p1"), waiting("p2"), waiting("p3"))

        def wish(tx: Transaction) -> None:
            for name in ("p2", "p1", "p3"):
                tx.cards.want(name, "terminal", 1)
            tx.cards.want("p1", "discord", 1)
            tx.cards.want("p2", "terminal", 3)
            tx.cards.want("p2", "terminal", 2)

        await store.write(wish)
        stale = await store.read(lambda tx: tx.cards.stale("terminal", 0, 9))
        assert [(card.proposal_id, card.wanted_version) for card in stale] == [
            ("p2", 3),
            ("p1", 1),
            ("p3", 1),
        ]
        assert stale[1] == Card("p1", "terminal", 1)

        def shown(tx: Transaction) -> None:
            tx.cards.put(replace(stale[0], shown_version=3, message_ids=("m2",), delivered=True))
            tx.cards.put(replace(stale[1], attempts=1, retry_at_ms=NOW_MS, why="down"))
            tx.cards.want("p2", "terminal", 4)

        await store.write(shown)
        now = await store.read(lambda tx: tx.cards.stale("terminal", NOW_MS - 1, 9))
        later = await store.read(lambda tx: tx.cards.stale("terminal", NOW_MS, 9))
        assert ids(now) == ["p3", "p2"]
        assert ids(later) == ["p1", "p3", "p2"]
        assert ids(await store.read(lambda tx: tx.cards.stale("terminal", NOW_MS, 1))) == ["p1"]
        assert [c.surface for c in await store.read(lambda tx: tx.cards.of("p1"))] == [
            "discord",
            "terminal",
        ]

    async def test_a_wish_made_while_a_card_was_posted_is_not_lost(
        self, store: ProposalStore
    ) -> None:
        await self.filled(store, waiting("p1"))
        await store.write(lambda tx: tx.cards.want("p1", "terminal", 1))
        posting = await store.read(lambda tx: tx.cards.get("p1", "terminal"))
        await store.write(lambda tx: tx.cards.want("p1", "terminal", 2))
        assert posting is not None

        await store.write(lambda tx: tx.cards.put(replace(posting, shown_version=1)))

        card = await store.read(lambda tx: tx.cards.get("p1", "terminal"))
        assert card is not None
        assert (card.wanted_version, card.shown_version) == (2, 1)
        assert ids(await store.read(lambda tx: tx.cards.stale("terminal", 0, 9))) == ["p1"]

    async def test_a_card_is_found_by_every_message_it_stood_in(self, store: ProposalStore) -> None:
        card = Card(
            "p1",
            "discord",
            wanted_version=2,
            shown_version=2,
            message_ids=("m1", "m2"),
            delivered=True,
            full=False,
            attempts=3,
            retry_at_ms=7,
            why="too long",
            posted_at_ms=NOW_MS,
            claim="nonce",
            extra={"thread": ["t", 1]},
        )
        await self.filled(store, waiting("p1"))
        await store.write(lambda tx: tx.cards.put(card))

        assert await store.read(lambda tx: tx.cards.get("p1", "discord")) == card
        assert await store.read(lambda tx: tx.cards.find("discord", "m1")) == card
        assert await store.read(lambda tx: tx.cards.find("discord", "m2")) == card
        assert await store.read(lambda tx: tx.cards.find("slack", "m1")) is None
        assert await store.read(lambda tx: tx.cards.find("discord", "m3")) is None

    async def test_only_cards_of_open_proposals_are_gone_through(
        self, store: ProposalStore
    ) -> None:
        await self.filled(store, waiting("b"), executing("a"), rejected("gone"), waiting("none"))

        def unit(tx: Transaction) -> None:
            for name in ("b", "a", "gone"):
                tx.cards.want(name, "discord", 1)
            tx.cards.want("none", "slack", 1)

        await store.write(unit)

        assert ids(await store.read(lambda tx: tx.cards.open_on("discord", 9))) == ["a", "b"]
        assert ids(await store.read(lambda tx: tx.cards.open_on("discord", 9, "a"))) == ["b"]
        assert ids(await store.read(lambda tx: tx.cards.open_on("discord", 1))) == ["a"]

    async def test_messages_are_kept_until_they_have_arrived(self, store: ProposalStore) -> None:
        first = Message("end:p1", "terminal", "leila", "ended", {"a": [1]}, NOW_MS, "p1")
        second = Message("note", "terminal", "", "note", {}, NOW_MS - 9, not_before_ms=NOW_MS)
        other = Message("away", "discord", "", "note", {}, NOW_MS)

        def unit(tx: Transaction) -> None:
            for message in (first, second, other, replace(first, body={"again": True})):
                tx.outbox.add(message)

        def due(now_ms: int) -> Callable[[Transaction], Any]:
            return lambda tx: tx.outbox.waiting("terminal", now_ms, 9)

        await store.write(unit)
        assert await store.read(due(NOW_MS - 1)) == [first]
        assert await store.read(due(NOW_MS)) == [first, second]

        await store.write(lambda tx: tx.outbox.failed("end:p1", NOW_MS + MINUTE_MS, "down"))
        assert await store.read(due(NOW_MS)) == [second]
        tried = replace(first, attempts=1, not_before_ms=NOW_MS + MINUTE_MS)
        assert await store.read(due(NOW_MS + MINUTE_MS)) == [tried, second]

        await store.write(lambda tx: tx.outbox.delivered("end:p1", NOW_MS))
        await store.write(lambda tx: tx.outbox.add(first))
        assert await store.read(due(NOW_MS + MINUTE_MS)) == [second]

    # -- the small books ------------------------------------------------------------------

    async def test_the_latest_packet_under_an_id_counts(self, store: ProposalStore) -> None:
        old = EvidencePacket("e1", "crm-sensor", NOW_MS - 1, NOW_MS, {"n": 1.0, "big": 2**70})
        new = replace(old, recorded_at_ms=NOW_MS + 1, payload={"n": 1, "list": [None, True]})
        await store.write(lambda tx: tx.evidence.put(old))
        found = await store.read(lambda tx: tx.evidence.get("e1"))
        assert found == old
        assert [type(value) for value in found.payload.values()] == [float, int]

        await store.write(lambda tx: tx.evidence.put(new))

        assert await store.read(lambda tx: tx.evidence.get("e1")) == new
        assert await store.read(lambda tx: tx.evidence.get("e2")) is None

    async def test_money_is_summed_exactly_over_what_is_open_and_what_was_completed_lately(
        self, store: ProposalStore
    ) -> None:
        ends = {
            "no": ended(State.REJECTED, NOW_MS),
            "back": ended(State.ROLLED_BACK, NOW_MS),
            "done": ended(State.COMPLETED, NOW_MS),
            "long": ended(State.COMPLETED, NOW_MS - 1),
        }
        held = {"p1": "0.10", "p2": "0.20", "no": "5", "back": "6", "done": "0.01", "long": "9"}

        def holds(tx: Transaction, name: str, amount: str) -> None:
            tx.proposals.add(waiting(name))
            tx.spending.add("leila", name, [Money("EUR", Decimal(amount))])

        def begins(tx: Transaction) -> None:
            for name, amount in held.items():
                holds(tx, name, amount)
            tx.spending.add("leila", "p1", [Money("USD", Decimal(3))])
            tx.spending.add("nour", "p1", [Money("EUR", Decimal(50))])
            holds(tx, "me", "7")

        def ends_all(tx: Transaction) -> None:
            for name, changes in ends.items():
                seen = tx.proposals.get(name)
                assert seen is not None
                assert tx.proposals.save(seen.but(version=seen.version + 1, **changes), seen)
            holds(tx, "at-once", "70")
            born = tx.proposals.get("at-once")
            assert born is not None
            assert tx.proposals.save(born.but(version=2, **ends["no"]), born)

        await store.write(begins)
        await store.write(ends_all)

        spent = await store.read(lambda tx: tx.spending.spent("leila", NOW_MS, "me"))
        assert spent == {"EUR": Decimal("0.31"), "USD": Decimal("3")}
        later = await store.write(lambda tx: tx.spending.spent("leila", NOW_MS + 1, "me"))
        assert later == {"EUR": Decimal("0.30"), "USD": Decimal("3")}
        assert await store.read(lambda tx: tx.spending.spent("ana", 0, "")) == {}

    async def test_uses_are_counted_strictly_after_a_moment(self, store: ProposalStore) -> None:
        def unit(tx: Transaction) -> None:
            for at_ms in (3, 1, 2, 2):
                tx.uses.add("leila", "send-email", at_ms)
            tx.uses.add("leila", "search", 9)
            tx.uses.add("nour", "send-email", 9)

        await store.write(unit)

        assert await store.read(lambda tx: tx.uses.since("leila", "send-email", 1)) == [2, 2, 3]
        assert await store.read(lambda tx: tx.uses.since("leila", "send-email", 3)) == []

    async def test_a_permit_is_used_once(self, store: ProposalStore) -> None:
        permit = PermitRecord("x", "p1", "execute", 1, "token", NOW_MS)
        later = replace(permit, permit_id="y", token="newer")
        await self.filled(store, waiting("p1"))

        def unit(tx: Transaction) -> None:
            tx.permits.add(permit)
            tx.permits.add(later)

        await store.write(unit)

        assert await store.read(lambda tx: tx.permits.get("x")) == permit
        assert await store.read(lambda tx: tx.permits.of("p1", "execute", 1)) == later
        assert await store.read(lambda tx: tx.permits.of("p1", "execute", 2)) is None
        used = [
            await store.write(lambda tx, name=name: tx.permits.consume(name, NOW_MS))
            for name in ("x", "x", "unknown")
        ]
        assert used == [True, False, False]
        assert await store.read(lambda tx: tx.permits.get("x")) == replace(
            permit, consumed_at_ms=NOW_MS
        )
        with pytest.raises(StoreUnavailable):
            await store.write(lambda tx: tx.permits.add(permit))

    async def test_a_task_is_done_or_back_in_its_proposers_backlog(
        self, store: ProposalStore
    ) -> None:
        back = Task("leila", "t2", "backlog", "p1", "rejected_by_person", "wrong one", NOW_MS)
        late = Task("leila", "t1", "backlog", "p1", "expired", "", NOW_MS)
        done = Task("leila", "t1", "done", "p2", "", "", NOW_MS + 1)
        others = Task("nour", "t2", "done", "p3", "", "", NOW_MS + 2)

        def unit(tx: Transaction) -> None:
            for task in (back, late, done, others):
                tx.backlog.put(task)

        await store.write(unit)

        assert await store.read(lambda tx: tx.backlog.tasks("leila", 9)) == [done, back]
        assert await store.read(lambda tx: tx.backlog.tasks("leila", 9, "t1")) == [back]
        assert await store.read(lambda tx: tx.backlog.get("leila", "t2")) == back
        assert await store.read(lambda tx: tx.backlog.get("nour", "t2")) == others
        assert await store.read(lambda tx: tx.backlog.get("nour", "t1")) is None

    async def test_flags_hold_any_json(self, store: ProposalStore) -> None:
        for value in ({"a": [1, None]}, "text", 0, None, False):
            await store.write(lambda tx, value=value: tx.flags.put("f", value))
            assert await store.read(lambda tx: tx.flags.get("f")) == value
        assert await store.read(lambda tx: tx.flags.get("g")) is None

    async def test_an_event_is_remembered_for_a_day(self, store: ProposalStore) -> None:
        def first(name: str, at_ms: int, surface: str = "discord") -> Callable[[Transaction], bool]:
            return lambda tx: tx.flags.first_time(surface, name, at_ms)

        assert await store.write(first("e1", 1000))
        assert not await store.write(first("e1", 1000 + DAY_MS - 1))
        assert await store.write(first("e1", 1000, "slack"))
        assert await store.write(first("e1", 1000 + DAY_MS))
        assert not await store.write(first("e1", 1000 + DAY_MS))
