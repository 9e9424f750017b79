"""The books on disk: the port ProposalStore over SQLite, and one in memory (design section 11)."""

from __future__ import annotations

from bot.storage.connection import CannotOpen
from bot.storage.opening import open_reader, open_store, path_of

__all__ = ["CannotOpen", "open_reader", "open_store", "path_of"]
