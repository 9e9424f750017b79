"""A small client for agents in Python: propose, wait, redeem, report; and `governed` tools."""

from __future__ import annotations

from bot.client_errors import NothingDone, SignoffRefused, SignoffUnreachable
from bot.client_governed import governed
from bot.client_session import Signoff

__all__ = ["NothingDone", "Signoff", "SignoffRefused", "SignoffUnreachable", "governed"]
