"""This is the client for agents in Python: `Signoff` to propose, wait, redeem and report, and
`governed` for functions that run only after people have signed off."""

from __future__ import annotations

from bot.client.errors import NothingDone, SignoffRefused, SignoffUnreachable
from bot.client.governed import governed
from bot.client.session import Signoff

__all__ = ["NothingDone", "Signoff", "SignoffRefused", "SignoffUnreachable", "governed"]
