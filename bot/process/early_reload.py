"""Keeps a SIGHUP that comes while the bot starts, until there is something to reload.

The config may have been read before it came; were it lost, the bot would work with the old one.
"""

from __future__ import annotations

import signal

_asked: list[int] = []


def keep_reloads() -> None:
    """Keep each SIGHUP from now on, which would end the process otherwise."""
    signal.signal(signal.SIGHUP, lambda number, _: _asked.append(number))


def take_reload() -> bool:
    """Return whether one was kept; it is kept no more."""
    kept = bool(_asked)
    _asked.clear()
    return kept
