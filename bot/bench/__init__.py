"""Measures this machine: ratios against a floor of plain SQLite in the same run, never a verdict
by the clock alone."""

from __future__ import annotations

from bot.bench.command import main

__all__ = ["main"]
