"""Since when each account of the config is whose it is.

What was given before counts for nobody who has the account by now: a platform may tell of it later
than a new config came, or once more, and what stands on a card says nothing of when it was put
there.

- It keeps, in the flag `hands`, how many times some account has changed hands (the *state*), and of
  each account its last owners, each since when and since which state. Accounts are named as the
  platform names them, without the team, which a config may correct.
- `Adopter.take_policy` writes it, with each policy that is put in force, also where only accounts
  differ: the digest of a policy does not tell accounts.
- `World.hands` holds it for whoever hears something (`bot/chat/hearing/owners.py`) or reads a card
  (`bot/chat/hearing/given_since.py`).
- Of each account the oldest owner is dropped beyond the last eight; the accounts themselves stay. A
  database of a former version does not have it: all accounts are whose they are since ever, then.
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
#: So many owners of one account are kept.
_MOST: Final = 8
#: A time that lies further ahead was told by a clock that has been set back since.
_APART_MS: Final = 5_000

#: Whose an account is, by each name that the config has for it; nobody's where it is empty.
Owners = Mapping[str, Identity]


@dataclass(frozen=True, slots=True)
class Held:
    """Whose an account is or was, since when (ms UTC) and since which state."""

    owners: Owners
    since_ms: int = 0
    state: int = 0


@dataclass(frozen=True, slots=True)
class Hands:
    """Of each account, by surface and the platform's name, its owners so far, the present last;
    `changed_ms` is when one changed hands last."""

    state: int = 0
    changed_ms: int = 0
    held: Mapping[tuple[str, str], Sequence[Held]] = field(default_factory=dict)

    def state_of(self, surface: str, user: str) -> int:
        """Return since which state an account is whose it is by now; 0 for since ever."""
        held = self.held.get((surface, user), ())
        return held[-1].state if held else 0

    def before(self, surface: str, user: str, given_ms: int, now_ms: int) -> Owners | None:
        """Return whose an account was when something was given by it, None where it has been whose
        it is by now since then. What was given at an hour that has not come yet was given before
        the clock was set back."""
        held = self.held.get((surface, user), ())
        ahead = given_ms > now_ms + _APART_MS
        if not held or held[-1].state == 0 or not (ahead or given_ms < held[-1].since_ms):
            return None
        then = [each for each in held[:-1] if ahead or each.since_ms <= given_ms]
        return then[-1].owners if then else {}

    def former(self, surface: str, user: str) -> Identity | None:
        """Return who had an account last before whoever has it by now, None where nobody had."""
        held = self.held.get((surface, user), ())
        owners = (each.owners.values() for each in reversed(held[:-1]))
        return next((who for each in owners for who in each), None)

    def from_now(self, known: Hands, now_ms: int) -> Hands:
        """Return the same for whoever knew less until now: what changed since does so now."""
        held = {
            account: [replace(e, since_ms=now_ms) if e.state > known.state else e for e in each]
            for account, each in self.held.items()
        }
        return Hands(self.state, now_ms if self.state > known.state else known.changed_ms, held)


def take_hands(tx: Transaction, before: Policy, policy: Policy, now_ms: int) -> Hands:
    """Write down, within a unit, whose the accounts are under a policy that is put in force, and
    return it; where nothing is on record, they were whose they were under the policy `before`."""
    flag = tx.flags.get(_FLAG)
    told = _read(flag) if flag is not None else _moved(Hands(), _owners(before), state=0, now_ms=0)
    if told is None:  # somebody wrote over it: nothing is known of what was given before now
        told = Hands(state=now_ms)
        moved = _moved(told, _owners(policy), state=now_ms + 1, now_ms=now_ms)
    else:
        moved = _moved(_in_time(told, now_ms), _owners(policy), state=told.state + 1, now_ms=now_ms)
    kept = _as_json(moved)
    if kept != flag:
        tx.flags.put(_FLAG, kept)
    return moved


def user_of(account: str) -> str:
    """Return what of an account the platform calls it by: the config may name its team too."""
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
    """Return it with nothing that lies ahead: the clock was set back, and that much is not known
    of what was given since."""
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
