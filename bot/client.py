"""This is the client for agents in Python: `Signoff` to propose, wait, redeem and report, and
`governed` for functions that run only after people have signed off."""

from __future__ import annotations

from bot.client_errors import NothingDone, SignoffRefused, SignoffUnreachable
from bot.client_governed import governed
from bot.client_session import Signoff

__all__ = ["NothingDone", "Signoff", "SignoffRefused", "SignoffUnreachable", "governed"]
