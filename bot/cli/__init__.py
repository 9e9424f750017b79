"""The command line: `signoff`, also `python -m bot` (design section 8)."""

from __future__ import annotations

from bot.cli import app
from bot.cli.leaving import leave


def main() -> None:
    """Be the process: run the command line, and end with its exit code."""
    try:
        app.main()
    except SystemExit as ended:
        if not isinstance(ended.code, int | None):
            raise  # words, which Python itself writes
        leave(ended.code or 0)


__all__ = ["main"]
