"""Records since when each account of the config has belonged to its present owner.

What an account gave before that counts for nobody who owns it now: a platform may tell of it after
a new config came, or tell of it once more, and an emoji on a card does not say when it was put
there.

- The flag `hands` keeps a number that grows with each policy under which some account changes hands
  (the *state*), and for each account its last owners, each since when and since which state.
  Accounts are named as the platform names them, without the team, which a config may correct.
- `Adopter.take_policy` writes the flag with each policy that is put in force, even if only accounts
  differ: the digest of a policy does not cover accounts.
- `World.hands` holds it for code that hears something (`bot/chat/hearing/owners.py`) or reads a
  card (`bot/chat/hearing/given_since.py`).
- The last eight owners of an account are kept; the accounts themselves are never dropped. A
  database of a former version has no such flag: then all accounts have had their owners since ever.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from lifecycle.moment import is_moment
from lifecycle.policy import Policy
from lifecycle.ports import Transaction
from lifecycle.proposal import ActorKind, Identity

_FLAG: Final = "hands"
#: The number of owners of one account that are kept.
_MOST: Final = 8
#: A time that lies further ahead was told by a clock that has been set back since.
_APART_MS: Final = 5_000

#: The owners of an account, by each name that the config has for it; empty if it is nobody's.
Owners = Mapping[str, Identity]


@dataclass(frozen=True, slots=True)
class Held:
    """The owners that an account has or had, since when (ms UTC) and since which state."""

    owners: Owners
    since_ms: int = 0
    state: int = 0


@dataclass(frozen=True, slots=True)
class Hands:
    """The owners of each account so far, by surface and the platform's name, the present ones last.

    `changed_ms` is when an account last changed hands (ms UTC).
    """

    state: int = 0
    changed_ms: int = 0
    held: Mapping[tuple[str, str], Sequence[Held]] = field(default_factory=dict)

    def state_of(self, surface: str, user: str) -> int:
        """Return the state since which an account has had its present owner; 0 for since ever."""
        held = self.held.get((surface, user), ())
        return held[-1].state if held else 0

    def before(self, surface: str, user: str, given_ms: int, now_ms: int) -> Owners | None:
        """Return the owners of an account when it gave something, None if its present owner has had
        it ever since. If `given_ms` lies ahead of now, it was given before the clock was set back.

        The result is empty if the owner of then has the account again: a platform may tell only
        since when something can have been given, and others have had the account in between.
        """
        held = self.held.get((surface, user), ())
        ahead = given_ms > now_ms + _APART_MS
        if not held or held[-1].state == 0 or not (ahead or given_ms < held[-1].since_ms):
            return None
        then = [each for each in held[:-1] if ahead or each.since_ms <= given_ms]
        owners = then[-1].owners if then else {}
        again = set(owners.values()) == set(held[-1].owners.values())
        return {} if again else owners

    def former(self, surface: str, user: str) -> Identity | None:
        """Return who last had an account before its present owner, None if nobody did."""
        held = self.held.get((surface, user), ())
        owners = (each.owners.values() for each in reversed(held[:-1]))
        return next((who for each in owners for who in each), None)

    def from_now(self, known: Hands, now_ms: int) -> Hands:
        """Return these records for a process that knew only `known` until now.

        What changed since then changes now, for until now the process heard for the former owners.
        """
        held = {
            account: [replace(e, since_ms=now_ms) if e.state > known.state else e for e in each]
            for account, each in self.held.items()
        }
        return Hands(self.state, now_ms if self.state > known.state else known.changed_ms, held)


def take_hands(tx: Transaction, before: Policy, policy: Policy, now_ms: int) -> Hands:
    """Record the owners of accounts under a policy that is put in force, and return the records.

    It runs within a unit. If nothing is on record yet, the accounts have had their owners under the
    policy `before` since ever.
    """
    flag = tx.flags.get(_FLAG)
    told = _read(flag) if flag is not None else _moved(Hands(), _owners(before), state=0, now_ms=0)
    if told is None:  # somebody wrote over the flag: nobody knows whose what was given before is
        told = Hands(state=now_ms)
        moved = _moved(told, _owners(policy), state=now_ms + 1, now_ms=now_ms)
    else:
        # The time keeps the number growing where a flag was deleted, of which nothing else knows.
        state = max(told.state + 1, now_ms)
        moved = _moved(_in_time(told, now_ms), _owners(policy), state=state, now_ms=now_ms)
    kept = _as_json(moved)
    if kept != flag:
        tx.flags.put(_FLAG, kept)
    return moved


def user_of(account: str) -> str:
    """Return the platform's own name of an account: the config may name its team before it."""
    return account.rpartition("/")[2]


def _moved(
    told: Hands, owners: Mapping[tuple[str, str], Owners], *, state: int, now_ms: int
) -> Hands:
    held, changed = dict(told.held), False
    for account in {**told.held, **owners}:
        so_far, now = list(held.get(account, ())), owners.get(account, {})
        was = so_far[-1].owners if so_far else {}
        if set(was.values()) == set(now.values()):
            held[account] = [*so_far[:-1], replace(so_far[-1], owners=now)] if so_far else []
            continue
        held[account] = [*so_far, Held(now, now_ms, state)][-_MOST:]
        changed = True
    return Hands(state, now_ms, held) if changed else replace(told, held=held)


def _in_time(told: Hands, now_ms: int) -> Hands:
    """Return the records with no time after now, for the clock was set back. What was given until
    now then counts as given before such a change."""
    held = {
        account: [replace(e, since_ms=min(e.since_ms, now_ms)) for e in each]
        for account, each in told.held.items()
    }
    return Hands(told.state, min(told.changed_ms, now_ms), held)


def _owners(policy: Policy) -> Mapping[tuple[str, str], Owners]:
    found: dict[tuple[str, str], dict[str, Identity]] = {}
    for surface, account, who in _named(policy):
        found.setdefault((surface, user_of(account)), {})[account] = who
    return found


def _named(policy: Policy) -> Iterator[tuple[str, str, Identity]]:
    entries = (
        (ActorKind.PERSON, policy.people),
        (ActorKind.AGENT, policy.agents),
        (ActorKind.SOURCE, policy.sources),
    )
    for kind, named in entries:
        for each in named.values():
            for surface, account in each.accounts.items():
                yield surface, account, Identity(kind, each.id)


def _as_json(hands: Hands) -> dict[str, Any]:
    of: dict[str, dict[str, Any]] = {}
    for (surface, user), held in hands.held.items():
        of.setdefault(surface, {})[user] = [
            [e.since_ms, e.state, {name: who.as_json() for name, who in e.owners.items()}]
            for e in held
        ]
    return {"state": hands.state, "changed_ms": hands.changed_ms, "of": of}


def _read(flag: Any) -> Hands | None:
    """Read back what `_as_json` wrote, None for anything else."""
    try:
        held = {
            (str(surface), str(user)): [_held(each) for each in so_far]
            for surface, users in flag["of"].items()
            for user, so_far in users.items()
        }
        state, changed_ms = flag["state"], flag["changed_ms"]
    except (AttributeError, KeyError, TypeError, ValueError):
        return None
    return Hands(state, changed_ms, held) if is_moment(state) and is_moment(changed_ms) else None


def _held(told: Any) -> Held:
    since_ms, state, owners = told
    if not (is_moment(since_ms) and is_moment(state)):
        raise ValueError
    named = {str(n): Identity(ActorKind(w["kind"]), str(w["id"])) for n, w in owners.items()}
    return Held(named, since_ms, state)
