"""Lists the exceptions whose message is a sentence for people, so that no traceback is needed."""

from __future__ import annotations

from typing import Final

from bot.expected import StartFailed
from bot.keys import KeysUnusable
from bot.storage import CannotOpen
from lifecycle.errors import GovernanceError
from lifecycle.ports import StoreUnavailable

EXPECTED: Final = (CannotOpen, GovernanceError, KeysUnusable, StartFailed, StoreUnavailable)
