"""This package measures the machine for `signoff bench`.

Speed is judged as a ratio against a floor of plain SQLite in the same run wherever that can be
done, because times alone say more about the machine than about Signoff.
"""

from __future__ import annotations

from bot.bench.command import main

__all__ = ["main"]
