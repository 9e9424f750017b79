"""Whose an account was when something was heard, or given before: a new config may give it to
somebody else before that can be worked, and whoever has it by then has said nothing.

The inbox keeps it with each event (`shown.as_heard` writes it there, by `lifecycle.hands`);
`senders.sender_of` reads it while the event is worked; it goes with the event.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final

from lifecycle.hands import user_of
from lifecycle.policy import Policy
from lifecycle.proposal import ActorKind, Identity
from lifecycle.world import World

#: Which account did what is kept, as the platform names it.
USER: Final = "user"
#: Whose that account was: by each name that the config had for it.
_OWNERS: Final = "owners"
_TOLD: ContextVar[Mapping[str, Any] | None] = ContextVar("owners", default=None)


def owner_of(policy: Policy, surface: str, account: str) -> Identity | None:
    """Return whose account it is under this policy, None where no entry claims it."""
    return next((who for known, who in _known(policy, surface) if known == account), None)


def with_owners(
    world: World, surface: str, payload: Mapping[str, Any], given_ms: int
) -> dict[str, Any]:
    """Return an event with whose the account is that it came from, or was at `given_ms`, ms UTC,
    when it was given at the soonest; as it is where it tells none, or tells that already."""
    user = payload.get(USER)
    if not user or _OWNERS in payload:
        return dict(payload)
    theirs = world.hands.before(surface, str(user), given_ms, world.clock.now_ms())
    if theirs is None:
        now = _known(world.law.policy, surface)
        theirs = {account: who for account, who in now if user_of(account) == user}
    return {**payload, _OWNERS: {account: who.as_json() for account, who in theirs.items()}}


@contextmanager
def as_they_were(payload: Mapping[str, Any]) -> Iterator[None]:
    """Work an event for whoever had its account when it was heard."""
    told = _TOLD.set(payload if _OWNERS in payload else None)
    try:
        yield
    finally:
        _TOLD.reset(told)


def owner_when_heard(account: str, now: Identity | None) -> Identity | None:
    """Return whose account it was when the event that is worked was heard; `now`, whose it is by
    now, where nobody noted that."""
    told = _TOLD.get()
    if told is None or told[USER] != user_of(account):
        return now
    owner = told[_OWNERS].get(account)
    return Identity(ActorKind(owner["kind"]), owner["id"]) if owner is not None else None


def is_named(policy: Policy, who: Identity | None) -> bool:
    """Say whether the config names somebody, with whichever accounts."""
    return who is not None and who.id in _entries(policy)[who.kind]


def _known(policy: Policy, surface: str) -> Iterator[tuple[str, Identity]]:
    """Yield the accounts of a surface that the config names, and whose they are."""
    for kind, entries in _entries(policy).items():
        for entry in entries.values():
            if surface in entry.accounts:
                yield entry.accounts[surface], Identity(kind, entry.id)


def _entries(policy: Policy) -> dict[ActorKind, Mapping[str, Any]]:
    return {
        ActorKind.PERSON: policy.people,
        ActorKind.AGENT: policy.agents,
        ActorKind.SOURCE: policy.sources,
    }
