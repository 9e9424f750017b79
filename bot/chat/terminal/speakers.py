"""Tells who speaks at the terminal, as in `leila: propose …`; else the first person allowed to."""

from __future__ import annotations

import re
from functools import partial
from typing import Final, NamedTuple

from lifecycle.answers import Sender
from lifecycle.nearest import meant
from lifecycle.policy import Policy
from lifecycle.proposal import ActorKind
from lifecycle.text.masking import mask_text

SURFACE: Final = "terminal"
_NAMED: Final = re.compile(r"\s*([^\s:{}\"'`@]{1,64})\s*:(?!//)\s*")


class Spoken(NamedTuple):
    """Who speaks and what is said. `objection` is a sentence if that name may not be spoken for."""

    sender: Sender
    text: str
    objection: str | None = None


def named(text: str) -> tuple[str | None, str]:
    """Split `name: command`; the name is None if none stands before the command."""
    found = _NAMED.match(text)
    return (None, text) if found is None else (found[1], text[found.end() :])


def spoken(text: str, policy: Policy) -> Spoken:
    """Return who speaks; a name that may not be spoken for gives a stranger, with an objection."""
    name, rest = named(text)
    if name is None:
        return _by_default(text, policy)
    sender = _sender(name, policy)
    if sender is not None:
        return Spoken(sender, rest)
    # The trail keeps the account; what stands before the colon may be the login of a password.
    stranger = Sender(SURFACE, None, None, account=mask_text(name))
    return Spoken(stranger, rest, _objection(name, policy))


def _by_default(text: str, policy: Policy) -> Spoken:
    first = next((person.id for person in policy.people.values() if person.terminal), None)
    if first is not None:
        return Spoken(_spoken_for(ActorKind.PERSON, first), text)
    return Spoken(
        Sender(SURFACE, None, None),
        text,
        "Nobody under people has terminal: true, so say who speaks: leila: propose …",
    )


def _sender(name: str, policy: Policy) -> Sender | None:
    for kind, known in (
        (ActorKind.PERSON, policy.people),
        (ActorKind.AGENT, policy.agents),
        (ActorKind.SOURCE, policy.sources),
    ):
        entry = known.get(name)
        if entry is not None and entry.terminal:
            return _spoken_for(kind, name)
    return None


def _spoken_for(kind: ActorKind, name: str) -> Sender:
    return Sender(SURFACE, kind, name, account=name, proof=partial(_may_be, kind, name))


def _may_be(kind: ActorKind, name: str, policy: Policy) -> bool:
    found = _sender(name, policy)
    return found is not None and found.kind is kind


def _objection(name: str, policy: Policy) -> str:
    if name in policy.people or name in policy.agents or name in policy.sources:
        return (
            f"{name} may not be spoken for at this terminal. Write terminal: true under {name} "
            "in the config, and reload."
        )
    may = [
        entry.id
        for known in (policy.people, policy.agents, policy.sources)
        for entry in known.values()
        if entry.terminal
    ]
    return f"Nobody called {mask_text(name)!r} speaks at this terminal.{meant(name, may)}"
