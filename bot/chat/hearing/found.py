"""Holds what a reading of a card found, for `catching_up.py`. It is not stored."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from bot.chat.hearing.known import Known, stops
from lifecycle.answers import Sender
from lifecycle.policy import Policy


@dataclass(frozen=True, slots=True)
class Found:
    """Who stands under ✅ and ❌ of a card, without the bot.

    `seeded` says that the bot's own ✅ stands, `lacking` that one of its two emoji does not and has
    to be put there again. `asked_ms` is when the platform was asked (ms UTC): a ✅ heard after that
    does not count as taken back. The ✅ of the accounts `waiting` are left to their events
    (`CatchingUp.waiting`).
    """

    approving: Sequence[Sender] = ()
    stopping: Sequence[Sender] = ()
    seeded: bool = True
    asked_ms: int | None = None
    lacking: bool = False
    waiting: Collection[str] = ()


def may_be_a_stop(policy: Policy, known: Known, sender: Sender) -> bool:
    """Return whether a ❌ may stop the proposal: by its sender, or by the former owner of the
    account who may have given it (`Sender.heir`)."""
    heir = sender.as_heir()
    able = [each for each in (sender, heir) if each is not None]
    return any(stops(policy, known.proposal, each) for each in able)
