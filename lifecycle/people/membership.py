"""Who of those who approve or stop something is still there: asked before it counts (section 6)."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from functools import partial

from lifecycle.people.acts import Act
from lifecycle.policy import Policy
from lifecycle.ports import Transaction
from lifecycle.proposal import ActorKind, Identity
from lifecycle.review import Decision
from lifecycle.world import World


@dataclass(frozen=True, slots=True)
class Membership:
    """Who was asked for, and who of them could not be confirmed."""

    asked: frozenset[str] = frozenset()
    lost: Collection[str] = ()

    def covers(self, tx: Transaction, proposal_id: str) -> bool:
        """Say whether nobody has approved whom nobody asked for."""
        return self.asked >= _approvers(proposal_id, tx)


class AskAlso(Exception):
    """These people's approvals may count, and nobody has asked yet whether they still may."""

    def __init__(self, people: frozenset[str]) -> None:
        super().__init__()
        self.people = people


def check_all_asked(tx: Transaction, proposal_id: str, asked: Collection[str]) -> None:
    """Raise AskAlso where a review counts of somebody who is not among the `asked`."""
    reviews = tx.reviews.of(proposal_id)
    others = {review.person for review in reviews if review.counts}.difference(asked)
    if others:
        raise AskAlso(frozenset(others))


async def with_lost(world: World, act: Act, asked: Collection[str]) -> Act:
    """Note who of these is no member; of the sender, whether that is known for sure."""
    unsure = False
    lost = await world.notifier.lost_members(asked, surely=False)
    if act.sender.id in lost:
        unsure = not await world.notifier.lost_members({str(act.sender.id)}, surely=True)
    return replace(act, lost=lost, unsure=unsure)


def with_account_lost(act: Act, now: Policy) -> Act:
    """Note whether the sender's account was taken from them since they were named: then it is no
    proof of who they are any more, whoever is a member."""
    if act.sender.is_known_to(now):
        return act
    return replace(act, lost={*act.lost, str(act.sender.id)}, unsure=False)


async def with_who_left(world: World, act: Act) -> Act:
    """Note whether a person who stops something is known to have left, and may stop nothing.

    Not knowing is not leaving (ADR 0011): stopping works although the chat is ill.
    """
    people = people_behind(act)
    if not people:
        return act
    return replace(act, lost=await world.notifier.lost_members(people, surely=True))


def people_behind(act: Act) -> frozenset[str]:
    """Return which people an act may be of: who had the account when it was heard, and who has it
    by now."""
    named = (each for each in (act.sender.identity, act.sender.heir) if each is not None)
    return frozenset(each.id for each in named if each.kind is ActorKind.PERSON)


def heir_of(act: Act) -> Identity | None:
    """Return who has the account by now, where somebody else had it when an act was heard; None for
    a person who is known to have left."""
    heir = act.sender.heir
    left = heir is not None and heir.kind is ActorKind.PERSON and heir.id in act.lost
    return None if left else heir


def by_who_may(act: Act, may: Callable[[Act], bool]) -> Act:
    """Return a stop as of whoever has the account by now, where they may give it and whoever had
    it when it was heard may not: a config may have named the wrong one then."""
    heir = act.sender.as_heir()
    if heir is None or may(act):
        return act
    theirs = replace(act, sender=heir)
    return theirs if may(theirs) else act


async def of_approvers(world: World, proposal_id: str) -> Membership:
    """Ask for everybody whose approval of this proposal counts as it is written, where it is
    counted without an act.

    Each was confirmed when it was given: only who has surely left since is lost.
    """
    people = await world.store.read(partial(_approvers, proposal_id))
    if not people:
        return Membership()
    return Membership(people, await world.notifier.lost_members(people, surely=True))


def _approvers(proposal_id: str, tx: Transaction) -> frozenset[str]:
    reviews = tx.reviews.of(proposal_id)
    return frozenset(r.person for r in reviews if r.counts and r.decision is Decision.APPROVE)
