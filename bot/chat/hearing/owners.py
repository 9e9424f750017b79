"""Tells whose an account was when something was heard, or given before that.

A new config may give the account to somebody else before the event can be processed, and that
person has said nothing. The inbox keeps the owners with each event (`shown.as_heard` writes them
there, by `lifecycle.hands`); `senders.sender_of` reads them while the event is processed; they go
with the event.
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

#: The key of a kept event for the account that it came from, as the platform names it.
USER: Final = "user"
#: The key for the owners of that account, by each name that the config had for it.
_OWNERS: Final = "owners"
_TOLD: ContextVar[Mapping[str, Any] | None] = ContextVar("owners", default=None)


def owner_of(policy: Policy, surface: str, account: str) -> Identity | None:
    """Return the owner of an account under this policy, None if no entry claims it."""
    return next((who for known, who in _known(policy, surface) if known == account), None)


def with_owners(
    world: World, surface: str, payload: Mapping[str, Any], given_ms: int
) -> dict[str, Any]:
    """Return an event with the owners of its account, those at `given_ms` if they were others.

    `given_ms` is when it was given at the soonest, ms UTC. The event stays as it is if it names no
    account, or has owners already.
    """
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
    """Process an event, within this context, for the owner of its account when it was heard."""
    told = _TOLD.set(payload if _OWNERS in payload else None)
    try:
        yield
    finally:
        _TOLD.reset(told)


def owner_when_heard(account: str, now: Identity | None) -> Identity | None:
    """Return the owner of an account when the event that is being processed was heard; `now`, its
    present owner, if nobody noted that."""
    told = _TOLD.get()
    if told is None or told[USER] != user_of(account):
        return now
    owner = told[_OWNERS].get(account)
    return Identity(ActorKind(owner["kind"]), owner["id"]) if owner is not None else None


def is_named(policy: Policy, who: Identity | None) -> bool:
    """Return whether the config names somebody, with whichever accounts."""
    return who is not None and who.id in _entries(policy)[who.kind]


def _known(policy: Policy, surface: str) -> Iterator[tuple[str, Identity]]:
    """Yield the accounts of a surface that the config names, with their owners."""
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
