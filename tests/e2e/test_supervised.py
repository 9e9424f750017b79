"""A bot that runs under systemd tells it when it serves, that it lives and that it ends."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from tests.fakes.systemd import ALIVE, Systemd
from tests.processes import Process


@pytest.mark.parametrize("abstract", [False, True])
def test_a_running_bot_tells_what_is_over_it(bot: Process, tmp_path: Path, abstract: bool) -> None:
    name = f"@signoff-{os.getpid()}" if abstract else str(tmp_path / "notify")
    systemd = Systemd(name)
    bot.environment |= {"NOTIFY_SOCKET": name, "WATCHDOG_USEC": "400000"}
    bot.start()
    assert [systemd.told() for _ in range(3)] == [b"READY=1", ALIVE, ALIVE]
    bot.send(signal.SIGTERM)
    last = ALIVE
    while last == ALIVE:
        last = systemd.told()
    assert last == b"STOPPING=1"
    assert bot.ends_within(10) == 0
    systemd.line.close()
