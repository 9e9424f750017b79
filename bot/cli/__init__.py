"""The command line: `signoff`, also `python -m bot` (design section 8)."""

from __future__ import annotations

from bot.cli.app import main

__all__ = ["main"]
