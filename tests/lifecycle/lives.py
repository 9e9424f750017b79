"""Lives of proposals of every kind, and what somebody may make of their rows and reviews."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from lifecycle.audit import AuditEntry
from lifecycle.policy import Person
from lifecycle.proposal import Cause, Execution, KeptStop, Outcome, Proposal, Verb
from lifecycle.review import Decision, Review
from lifecycle.tier import Puller
from tests.builders import ANA, MAIL, PROD, REFUND
from tests.fakes.tools import raising
from tests.roads import trail_of
from tests.stage import in_memory
from tests.stories.permits import the_permit
from tests.world import World

Row = tuple[Proposal, Sequence[AuditEntry], Sequence[Review]]
SEND = "send-email"
SECRET = {"to": "pat@partner.example", "subject": "Invoice", "body": "AKIAIOSFODNN7EXAMPLE"}


async def lived(world: World) -> None:
    """Let a proposal of every kind come, and be answered in every way."""
    for name in ("open", "dual", "again", "void", "stopped", "refused", "bare"):
        target = dict(PROD["target"], resource_id=f"of-{name}")
        quorum = "dual" if name in ("dual", "again", "void") else "none"
        await world.submits(PROD, proposal_id=name, target=target, approval_class=quorum)
        world.clock.advance(60)
    await world.approves("ana", "void")
    zoe = Person("zoe", {}, frozenset({"approvers"}))
    await world.adopts(people=dict(world.workflow.policy.people, zoe=zoe))
    await world.approves("ana", "dual", "it is right")
    await world.approves("ana", "again")
    await world.workflow.take_back("again", world.sender("ana"))
    await world.approves("ana", "again")
    await world.reacts("ben", "stopped", "❌")
    await world.workflow.give_reason("stopped", world.sender("ben"), "the shop is full")
    await world.rejects("ben", "refused", "the shop is full")
    await world.submits(MAIL, proposal_id="secret", parameters=SECRET)
    await mails(world)
    target = dict(REFUND["target"], resource_id="order-18")
    await world.submits(REFUND, proposal_id="handed", target=target)
    await world.approves("ben", "handed")
    await world.submits(REFUND, proposal_id="refund")
    await world.approves("ben", "refund")
    await world.workflow.redeem(
        await the_permit(world), REFUND["parameters"], world.sender("leila")
    )
    await world.reacts("ben", "bare", "❌")


async def mails(world: World) -> None:
    """Let mails be in their window, sent, taken back, and in doubt with a ❌ kept."""
    for name in ("sent", "mail", "back", "kept", "happened"):
        parameters = dict(MAIL["parameters"], subject=f"Invoice of {name}")
        doubtful = name in ("kept", "happened")
        world.tool(SEND).on["execute"] = raising(RuntimeError("cut")) if doubtful else None
        if not doubtful:
            del world.tool(SEND).on["execute"]
        await world.submits(MAIL, proposal_id=name, parameters=parameters)
        await world.approves("ana", name)
        if name == "sent":
            await world.passes(minutes=16)
    await world.rejects("ben", "back")
    await world.rejects("ben", "kept", "do not send that")
    await world.workflow.settle("happened", world.sender("ana"), happened=True)


async def rows(folder: Path) -> dict[str, Row]:
    async with in_memory(folder) as world:
        await lived(world)

        def read(tx: Any) -> dict[str, Row]:
            ids = tx.proposals.ids_after("", 100)
            return {p: (tx.proposals.get(p), trail_of(tx, p), tx.reviews.of(p)) for p in ids}

        return await world.store.read(read)


async def the_row(world: World, proposal_id: str = "p1") -> Row:
    """Return a proposal with its trail and its reviews, as the store has them."""

    def read(tx: Any) -> Row:
        found = tx.proposals.get(proposal_id)
        assert found is not None
        return found, trail_of(tx, proposal_id), tx.reviews.of(proposal_id)

    return await world.store.read(read)


def row(**changes: Any) -> Callable[[Row], Row]:
    return lambda it: (it[0].but(**changes), it[1], it[2])


def execution(**changes: Any) -> Callable[[Row], Row]:
    def changed(it: Row) -> Row:
        assert it[0].execution is not None
        return it[0].but(execution=replace(it[0].execution, **changes)), it[1], it[2]

    return changed


def review(number: int, **changes: Any) -> Callable[[Row], Row]:
    def changed(it: Row) -> Row:
        reviews = list(it[2])
        reviews[number] = replace(reviews[number], **changes)
        return it[0], it[1], reviews

    return changed


def lost(number: int) -> Callable[[Row], Row]:
    return lambda it: (it[0], it[1], [r for n, r in enumerate(it[2]) if n != number])


def came(person: str, decision: Decision) -> Callable[[Row], Row]:
    return lambda it: (
        it[0],
        it[1],
        [*it[2], Review(it[0].proposal_id, person, decision, "", 1, "x")],
    )


def judged(change: Callable[[str], str]) -> Callable[[Row], Row]:
    return lambda it: (
        it[0].but(checked_policy_digest=change(it[0].checked_policy_digest or "")),
        it[1],
        it[2],
    )


def found(**changes: Any) -> Callable[[Row], Row]:
    def changed(it: Row) -> Row:
        verdict = it[0].verdict
        assert verdict is not None
        results = [
            replace(each, findings=tuple(replace(said, **changes) for said in each.findings))
            for each in verdict.results
        ]
        return it[0].but(verdict=replace(verdict, results=tuple(results))), it[1], it[2]

    return changed


def cause(**changes: Any) -> Callable[[Row], Row]:
    def changed(it: Row) -> Row:
        assert it[0].execution is not None
        assert it[0].execution.cause is not None
        return execution(cause=replace(it[0].execution.cause, **changes))(it)

    return changed


def kept(**changes: Any) -> Callable[[Row], Row]:
    def changed(it: Row) -> Row:
        assert it[0].kept_stop is not None
        return row(kept_stop=replace(it[0].kept_stop, **changes))(it)

    return changed


FOR_ANA = Cause(ANA, Puller.PERSON, "approved_early", "ana approved before the window closed.")
BY_BEN = KeptStop("ben", "", 1, "terminal")
ON_ITS_OWN = Execution(Verb.EXECUTE, 1, Outcome.RUNNING)


def unasked(it: Row) -> Row:
    """Let one rule that found nothing be missing from the verdict."""
    verdict = it[0].verdict
    assert verdict is not None
    assert not verdict.results[0].findings
    return it[0].but(verdict=replace(verdict, results=verdict.results[1:])), it[1], it[2]
