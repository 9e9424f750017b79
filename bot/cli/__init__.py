"""This package is the command line `signoff`, also `python -m bot` (design section 8).

Every command runs on the main thread. One that needs a loop runs it with `bot.process.pool.run`.
Imports within commands keep the start of the others short.
"""

from __future__ import annotations

import signal

from bot.cli import app
from bot.cli.leaving import leave
from bot.process.garbage import load_undisturbed


def main() -> None:
    """Run the command line and end the process with its exit code."""
    # A caller that blocks signals, as a thread of a server may, hands that on to its programs: no
    # SIGTERM and no Ctrl-C ended this one, and tools would inherit it in turn.
    signal.pthread_sigmask(signal.SIG_UNBLOCK, signal.valid_signals())
    load_undisturbed()
    try:
        app.main()
    except SystemExit as ended:
        if not isinstance(ended.code, int | None):
            raise  # the code is a text, which Python itself writes to standard error
        leave(ended.code or 0)


__all__ = ["main"]
