"""This package implements the port ProposalStore over SQLite and in memory (design section 11).

`bot/bootstrap.py` and the command line open a store with `open_store` or `open_reader`.
"""

from __future__ import annotations

from bot.storage.connection import CannotOpen
from bot.storage.opening import open_reader, open_store, path_of

__all__ = ["CannotOpen", "open_reader", "open_store", "path_of"]
