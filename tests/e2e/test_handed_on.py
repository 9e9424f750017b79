"""What a caller hands on to its programs keeps no bot from hearing its signals."""

from __future__ import annotations

import os
import signal

import pytest

from tests.conftest import ROOT
from tests.processes import Process

SAYS_WHAT_IS_BLOCKED = """
import json, signal, sys

json.load(sys.stdin)
print(json.dumps({"blocked": len(signal.pthread_sigmask(signal.SIG_BLOCK, ()))}))
"""


@pytest.fixture
def hemmed_in(bot: Process) -> Process:
    """A bot that was started by a thread which blocks every signal, as those of servers may."""
    # A bot with another environment is started anew: a forked one has the mask of its parent.
    bot.environment["PYTHONPATH"] = f"{ROOT}{os.pathsep}{bot.folder}"
    (bot.folder / "examples" / "tools" / "search.py").write_text(SAYS_WHAT_IS_BLOCKED)
    before = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    try:
        bot.start()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    return bot


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_bot_whose_caller_blocked_the_signals_ends_when_it_is_told_to(
    hemmed_in: Process, number: int
) -> None:
    """Nothing but SIGKILL ended it, and `reload` was never heard."""
    hemmed_in.ask("status")

    reloaded = hemmed_in.beside("reload")
    hemmed_in.send(number)

    assert "as it is now" in reloaded.stdout
    assert hemmed_in.ends_within(10) == 0, hemmed_in.complaints()


def test_a_tool_inherits_no_blocked_signals(hemmed_in: Process) -> None:
    """A shell script that waits for its children would hang with SIGCHLD blocked."""
    answer = hemmed_in.answer("leila: propose @examples/search.json")

    assert answer["result"]["value"] == {"blocked": 0}
