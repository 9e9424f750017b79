"""From an account of a platform to whom the config knows: by id, never by name."""

from __future__ import annotations

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
    """Return who `account` is on this surface; kind and id are None where no entry claims it."""
    known = (
        (ActorKind.PERSON, policy.people),
        (ActorKind.AGENT, policy.agents),
        (ActorKind.SOURCE, policy.sources),
    )
    for kind, entries in known:
        for entry in entries.values():
            if entry.accounts.get(surface) == account:
                return Sender(surface, kind, entry.id, account, event_id, place)
    return Sender(surface, None, None, account, event_id, place)


def account_of(policy: Policy, surface: str, person: str) -> str | None:
    """Return the account of a person on this surface, None where the config names none."""
    entry = policy.people.get(person)
    return entry.accounts.get(surface) if entry is not None else None


def called(sender: Sender) -> str:
    """Return how a note names whom it is for: the config's id, else the account."""
    return sender.id or f"account {sender.account}"
