"""A real bot in a folder of its own."""

from __future__ import annotations

from tests.processes import bot

__all__ = ["bot"]
