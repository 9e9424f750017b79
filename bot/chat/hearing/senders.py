"""Tells who an account belongs to: by the platform's proof and the config, never by a name."""

from __future__ import annotations

from functools import partial

from bot.chat.hearing.owners import is_named, owner_of, owner_when_heard
from bot.chat.hearing.shown import when_heard
from bot.chat.turns import Rank, Turn
from lifecycle.answers import Sender
from lifecycle.policy import Policy
from lifecycle.proposal import Identity


def sender_of(
    policy: Policy,
    surface: str,
    account: str,
    *,
    event_id: str | None = None,
    place: str | None = None,
) -> Sender:
    """Return the sender behind an account of a surface; a stranger if no entry claims it.

    Behind an event that waited it is the owner of the account when the event was heard, if the
    config still names them, else the present owner. If these two differ, the account proves nothing
    of either: what it stopped or took back counts, and nothing that needs proof does. The present
    owner is then named as `heir`, so that a stop which only they may give is not lost.
    """
    now = owner_of(policy, surface, account)
    then = owner_when_heard(account, now) if event_id is not None else now
    who = then if is_named(policy, then) else now
    if who is None:
        return stranger(surface, account, event_id=event_id, place=place)
    proof = partial(_is_still, then, surface, account)
    heard_ms = when_heard() if event_id is not None else None
    heir = now if now != who else None
    return Sender(surface, who.kind, who.id, account, event_id, place, proof, heard_ms, heir)


def _is_still(who: Identity | None, surface: str, account: str, policy: Policy) -> bool:
    return who is not None and owner_of(policy, surface, account) == who


def as_known_now(policy: Policy, sender: Sender) -> Sender:
    """Return the sender as the present policy knows their account: while an approval waited, the
    account may have been taken from them, and then is no proof of who they are any more."""
    if sender.identity is None:
        return sender
    named = {"event_id": sender.event_id, "place": sender.place}
    return sender_of(policy, sender.surface, sender.account, **named)


def turn_of(policy: Policy, surface: str, account: str) -> Turn:
    """Return the waiting line in which an account is answered: people of the config come first."""
    known = any(each.accounts.get(surface) == account for each in policy.people.values())
    return Turn(Rank.FIRST if known else Rank.AGENTS, account)


def stranger(
    surface: str, account: str, *, event_id: str | None = None, place: str | None = None
) -> Sender:
    """Return a sender whom no entry of the config claims."""
    return Sender(surface, None, None, account, event_id, place)


def accounts_of(policy: Policy, surface: str, people: frozenset[str]) -> dict[str, str]:
    """Return the accounts on this surface of those of `people` who have one."""
    found = {name: policy.people[name].accounts for name in people if name in policy.people}
    return {name: accounts[surface] for name, accounts in found.items() if surface in accounts}
