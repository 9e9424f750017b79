"""Identify the sender: a bearer token for each agent and source, compared in constant time."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Final

from lifecycle.answers import Sender
from lifecycle.policy import Policy
from lifecycle.proposal import ActorKind

SURFACE: Final = "http"
_SCHEME: Final = "bearer "
_MINUTE_MS: Final = 60_000


class Tokens:
    """The tokens of the policy in force, read from the environment at each reload."""

    def __init__(self, policy: Callable[[], Policy], environment: Mapping[str, str]) -> None:
        """Ask `policy` each time; the variables that it names are looked up in `environment`."""
        self._policy = policy
        self._environment = environment
        # One value, replaced as a whole: units ask too, on the thread of the store.
        self._read: tuple[Policy, tuple[tuple[bytes, ActorKind, str], ...]] | None = None

    def sender(self, authorization: str | None) -> Sender | None:
        """Return the sender, None if unknown; a token that two share belongs to neither."""
        if authorization is None or not authorization.lower().startswith(_SCHEME):
            return None
        given = _digest(authorization[len(_SCHEME) :].strip())
        found = self._found(given, self._policy())
        if found is None:
            return None
        kind, name = found
        return Sender(SURFACE, kind, name, name, proof=partial(self._is_still, found, given))

    def _is_still(self, known: tuple[ActorKind, str], given: bytes, policy: Policy) -> bool:
        return self._found(given, policy) == known

    def _found(self, given: bytes, policy: Policy) -> tuple[ActorKind, str] | None:
        # Every token is compared, whatever was found, so that the time tells nothing.
        found = [
            (kind, name)
            for kept, kind, name in self._all(policy)
            if hmac.compare_digest(kept, given)
        ]
        return found[0] if len(found) == 1 else None

    def _all(self, policy: Policy) -> tuple[tuple[bytes, ActorKind, str], ...]:
        read = self._read
        if read is None or read[0] is not policy:
            read = self._read = policy, tuple(self._tokens(policy))
        return read[1]

    def _tokens(self, policy: Policy) -> Iterator[tuple[bytes, ActorKind, str]]:
        entries = [(ActorKind.AGENT, each.id, each.token_env) for each in policy.agents.values()]
        entries += [(ActorKind.SOURCE, each.id, each.token_env) for each in policy.sources.values()]
        for kind, name, token_env in entries:
            token = self._environment.get(token_env, "").strip() if token_env else ""
            if token:
                yield _digest(token), kind, name


class Strangers:
    """Senders without a known token: one entry of the trail a minute tells of all of them.

    Otherwise anybody who can reach the door could fill the disk, and bury what matters in the
    trail.
    """

    def __init__(self) -> None:
        """Nobody has come yet."""
        self._untold = 0
        self._told_at_ms: int | None = None

    def came(self, now_ms: int) -> Sender | None:
        """Return the stranger to write down, None if the next entry will count them."""
        if self._told_at_ms is not None and 0 <= now_ms - self._told_at_ms < _MINUTE_MS:
            self._untold += 1
            return None
        untold, self._untold, self._told_at_ms = self._untold, 0, now_ms
        return stranger(f"and {untold} more since the row before" if untold else "")


def stranger(account: str = "") -> Sender:
    """Return the sender for anybody without a known token."""
    return Sender(SURFACE, None, None, account=account)


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).digest()
