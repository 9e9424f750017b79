"""Who an account belongs to: by the platform's proof and the config, never by a name."""

from __future__ import annotations

from functools import partial

from bot.chat.hearing.shown import when_heard
from bot.chat.turns import Rank, Turn
from lifecycle.answers import Sender
from lifecycle.policy import Policy
from lifecycle.proposal import ActorKind


def sender_of(
    policy: Policy,
    surface: str,
    account: str,
    *,
    event_id: str | None = None,
    place: str | None = None,
) -> Sender:
    """Return the sender behind an account of a surface; a stranger where no entry claims it."""
    for kind, known in (
        (ActorKind.PERSON, policy.people),
        (ActorKind.AGENT, policy.agents),
        (ActorKind.SOURCE, policy.sources),
    ):
        for entry in known.values():
            if entry.accounts.get(surface) == account:
                proof = partial(_is_still, kind, entry.id, surface, account)
                heard_ms = when_heard() if event_id is not None else None
                return Sender(surface, kind, entry.id, account, event_id, place, proof, heard_ms)
    return stranger(surface, account, event_id=event_id, place=place)


def _is_still(kind: ActorKind, name: str, surface: str, account: str, policy: Policy) -> bool:
    found = sender_of(policy, surface, account)
    return (found.kind, found.id) == (kind, name)


def as_known_now(policy: Policy, sender: Sender) -> Sender:
    """Return the sender as the policy of now knows their account: while an approval waited it may
    have been taken from them, and is no proof of who they are any more."""
    if sender.identity is None:
        return sender
    named = {"event_id": sender.event_id, "place": sender.place}
    return sender_of(policy, sender.surface, sender.account, **named)


def turn_of(policy: Policy, surface: str, account: str) -> Turn:
    """Return the line in which an account is answered: people of the config come first."""
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
