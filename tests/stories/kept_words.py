"""What people were told, held against what is there."""

from __future__ import annotations

from lifecycle.answers import Reply
from lifecycle.ports import Transaction
from lifecycle.review import Decision
from lifecycle.state import State
from tests.roads import trail_of


def unkept(name: str, named: str, who: str, reply: Reply, tx: Transaction) -> list[str]:
    """Say so where somebody was told what nothing tells of."""
    proposal = tx.proposals.get(named) if reply.done and reply.state else None
    if proposal is None:
        return []
    kinds = [entry.event.kind for entry in trail_of(tx, named)]
    mine = [review.decision for review in tx.reviews.of(named) if review.person == who]
    match name:
        case "approve":
            kept = Decision.APPROVE in mine or who == "nour"
        case "reject" | "roll_back":
            kept = any(each is not Decision.APPROVE for each in mine)
        case "withdraw":
            kept = proposal.state is State.REJECTED and proposal.reason == "withdrawn"
        case "take_back":
            kept = "approval_taken_back" in kinds
        case "settle":
            kept = "settled" in kinds
        case _:
            kept = proposal.execution is not None
    return [] if kept else [f"{name} of {named} by {who}: told {reply.words!r}, and it is not so"]
