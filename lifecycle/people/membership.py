"""Asks the surfaces whether people who approve or stop something are still members (section 6).

The surfaces are asked outside the store's unit, before an act counts; the `with_…` functions note
the answer on the act. An approval needs a confirmed membership; a stop is refused only if its giver
has surely left (ADR 0011).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final

from lifecycle.confirming import Membership, approvers, lately
from lifecycle.counting import is_lost
from lifecycle.moment import Moment
from lifecycle.people.acts import Act
from lifecycle.policy import Policy
from lifecycle.ports import Transaction
from lifecycle.proposal import ActorKind, Identity
from lifecycle.review import Absent
from lifecycle.world import World

#: People who were last asked for within this time are asked for again in the same question.
_TOGETHER_MS: Final = 120_000


class AskAlso(Exception):
    """Raised in a unit if it would count approvals of people who were not asked for yet."""

    def __init__(self, people: frozenset[str]) -> None:
        super().__init__()
        self.people = people


def check_all_asked(tx: Transaction, proposal_id: str, asked: Collection[str]) -> None:
    """Raise AskAlso if an approval counts and its person is not among the `asked`."""
    others = approvers(proposal_id, tx).difference(asked)
    if others:
        raise AskAlso(others)


async def with_lost(world: World, act: Act, asked: Collection[str]) -> Act:
    """Return the act with `lost` set to those of these people whose membership is not confirmed.

    `unsure` is True if the sender is among them without being known to have left.
    """
    unsure, sender = False, act.sender
    lost = await world.notifier.lost_members(asked, only_certain=False)
    if is_lost(lost, sender.id, sender.surface):
        left = await world.notifier.lost_members({str(sender.id)}, only_certain=True)
        unsure = not is_lost(left, sender.id, sender.surface)
    return replace(act, lost=lost, unsure=unsure)


def with_account_lost(act: Act, now: Policy) -> Act:
    """Return the act with its sender among the `lost` if a new policy has taken the account away.

    The account no longer proves who they are, whether or not they are a member.
    """
    if act.sender.is_known_to(now):
        return act
    return replace(act, lost={*act.lost, str(act.sender.id)}, unsure=False)


async def with_who_left(world: World, act: Act) -> Act:
    """Return a stop with `lost` set to those of its people who are known to have left.

    They may stop nothing. Somebody whose membership is unknown has not left (ADR 0011), so that
    stopping works while the chat fails.
    """
    people = people_behind(act)
    if not people:
        return act
    return replace(act, lost=await world.notifier.lost_members(people, only_certain=True))


def people_behind(act: Act) -> frozenset[str]:
    """Return the people an act may be of: who had the account when it was heard, or has it now."""
    named = (each for each in (act.sender.identity, act.sender.heir) if each is not None)
    return frozenset(each.id for each in named if each.kind is ActorKind.PERSON)


def heir_of(act: Act) -> Identity | None:
    """Return who has the account now, if somebody else had it when the act was heard; else None.

    None as well for a person who is known to have left.
    """
    heir = act.sender.heir
    left = heir is not None and heir.kind is ActorKind.PERSON and heir.id in act.lost
    return None if left else heir


def by_who_may(act: Act, may: Callable[[Act], bool]) -> Act:
    """Return a stop in the name of the account's present holder, if only that one may give it.

    A config may have named the wrong person for the account when the stop was heard.
    """
    heir = act.sender.as_heir()
    if heir is None or may(act):
        return act
    theirs = replace(act, sender=heir)
    return theirs if may(theirs) else act


async def of_approvers(world: World, proposal_id: str, *, only_certain: bool = True) -> Membership:
    """Ask for everybody whose stored approval of this proposal counts; used when no act is counted.

    Each was confirmed when the approval was given, so by default only those who have surely left
    are lost. With `only_certain` False whoever is not confirmed is lost as well: that is asked if
    the last count may have confirmed too few.
    """
    people = await world.store.read(partial(approvers, proposal_id))
    if not people:
        return Membership()
    lost = await world.notifier.lost_members(people, only_certain=only_certain)
    return Membership(people, lost)


@dataclass(slots=True)
class Confirmed:
    """Remembers for half a minute who has surely left, for proposals that had to wait.

    After a thaw a thousand proposals may begin that the same few people approved; the chats are not
    asked again for each of them. Used on the event loop. `_asking` lets one question run at a time:
    a hundred agents may redeem at once, and a chat that is asked too much answers nothing, so that
    whoever has left would count.
    """

    world: World
    _asked_ms: dict[str, int] = field(default_factory=dict)
    _lost: set[Absent] = field(default_factory=set)
    _asking: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def approvers_of(self, proposal_id: str) -> Membership:
        """Return the people whose approval of a proposal counts, and who is known to have left.

        If one of them was not asked for within 30 s, all are asked for anew, together with everyone
        who was asked for in the last two minutes. Otherwise a chat that hangs would be waited for
        again at nearly every proposal, each time because of another person.
        """
        people = await self.world.store.read(partial(approvers, proposal_id))
        async with self._asking:
            now = self.world.moment()
            if not all(lately(now, self._asked_ms.get(each, 0)) for each in people):
                since_ms = now.now_ms - _TOGETHER_MS
                before = (each for each, at_ms in self._asked_ms.items() if at_ms >= since_ms)
                await self._ask(people.union(before), now)
            return Membership(people, frozenset(self._lost))

    def heard(self, people: Collection[str], lost: Collection[Absent]) -> None:
        """Note the answer that an act got for these people; `lost` are those not confirmed.

        The others are members again. What was remembered about when they were asked for is dropped,
        so that the next proposal asks for all of them anew.
        """
        self._lost = {each for each in self._lost if _person_of(each) not in people or each in lost}
        for each in people:
            self._asked_ms.pop(each, None)

    async def _ask(self, people: Collection[str], now: Moment) -> None:
        """Ask for these people and remember the answer.

        Somebody who was known to have left is back only if a chat confirms it: after a thaw the
        chat may be too busy to say a second time that they have left.
        """
        lost_members = self.world.notifier.lost_members
        lost = set(await lost_members(people, only_certain=True))
        left = {each for each in self._lost - lost if _person_of(each) in people}
        if left:
            lost |= left.intersection(await lost_members({*map(_person_of, left)}))
        self._lost = {each for each in self._lost if _person_of(each) not in people} | lost
        self._asked_ms |= dict.fromkeys(people, now.now_ms)


def _person_of(absent: Absent) -> str:
    return absent if isinstance(absent, str) else absent[0]
