"""The bot's own work has its threads from the start."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from bot.cli import main
from bot.pool import started_pool


async def test_our_own_work_is_done_where_no_thread_can_be_started(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asyncio.get_running_loop().set_default_executor(started_pool())
    together = threading.Barrier(4)

    def refused(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", refused)
        met = await asyncio.gather(*(asyncio.to_thread(together.wait, 20) for _ in range(4)))

    assert sorted(met) == [0, 1, 2, 3]


def test_a_command_for_which_no_thread_starts_says_which_limit_to_raise(
    write_config: Callable[..., Path],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def refused(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    config = write_config()
    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", refused)
        words = ["--config", str(config), "propose", str(config), "--as", "leila"]
        patch.setattr(sys, "argv", ["signoff", *words])
        patch.setattr(sys, "stdout", sys.stdout)
        patch.setattr(sys, "stderr", sys.stderr)
        with pytest.raises(SystemExit) as end:
            main()

    assert end.value.code == 1
    assert "This machine starts no more threads for Signoff" in capsys.readouterr().err
