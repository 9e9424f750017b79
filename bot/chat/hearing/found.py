"""What a reading of a card found, before the law hears of it (`catching_up.py`). It is not kept."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from bot.chat.hearing.known import Known, stops
from lifecycle.answers import Sender
from lifecycle.policy import Policy


@dataclass(frozen=True, slots=True)
class Found:
    """Who stands under ✅ and ❌ of a card, the bot left out; `seeded`: its own ✅ stands,
    `lacking`: one of its emoji does not, so that it has to put them there again.

    `asked_ms` is when the platform was asked: a ✅ heard after that was not taken back. The ✅ of
    those `waiting` is left to what waits (`CatchingUp.waiting`).
    """

    approving: Sequence[Sender] = ()
    stopping: Sequence[Sender] = ()
    seeded: bool = True
    asked_ms: int | None = None
    lacking: bool = False
    waiting: Collection[str] = ()


def may_be_a_stop(policy: Policy, known: Known, sender: Sender) -> bool:
    """Say whether a ❌ may stop it, by whoever has its account or may have given it before."""
    heir = sender.as_heir()
    able = [each for each in (sender, heir) if each is not None]
    return any(stops(policy, known.proposal, each) for each in able)
