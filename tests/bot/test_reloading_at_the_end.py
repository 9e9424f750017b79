"""A bot that is told to read its config and to end in one moment does one after the other."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from bot import running
from bot.bootstrap import App
from bot.config import load_config
from bot.config.surfaces import Choice
from bot.process import pool
from lifecycle.world import World

SOON_S = 10

#: A module that says through a named pipe that it is loaded now, and waits for another one.
NEVER_LOADED = """
from pathlib import Path

Path(__file__).with_name("began").write_text("now")
Path(__file__).with_name("go_on").read_text()
"""
#: The same of a class that is never made.
NEVER_MADE = """
from pathlib import Path

class T:
    def __init__(self):
        Path(__file__).with_name("began").write_text("now")
        Path(__file__).with_name("go_on").read_text()

    def execute(self, call):
        return {}
"""
NOTHING = Choice(discord=False, slack=False, terminal=False, http=False)


def that_stays(write_config: Callable[..., Path]) -> Path:
    """Write the config of a bot that does not end for want of a surface."""
    return write_config(("http: {enabled: false", "http: {enabled: true"))


def with_tool(text: str, module: str) -> str:
    """Return the config `text` with a tool more, of the class `T` of `module`."""
    own = f'own: {{tier: CONFIRM, action_type: execute, kind: python, class: "{module}:T"}}'
    return text.replace("tools:\n", f"tools:\n  {own}\n", 1)


async def test_an_end_waits_for_a_reload_and_closes_nothing_under_it(
    write_config: Callable[..., Path],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """The store was closed under it, and an operator was called to proposals that lack nothing."""
    known: list[World] = []

    async def told_both(app: App) -> None:
        known.append(app.workflow.world)
        text = app.config.path.read_text()
        app.config.path.write_text(text.replace("proposal_ttl_s: 86400", "proposal_ttl_s: 600"))
        os.kill(os.getpid(), signal.SIGHUP)
        os.kill(os.getpid(), signal.SIGTERM)
        await asyncio.Event().wait()

    monkeypatch.setattr(running, "keep_database", told_both)  # a moment at which it surely runs
    stays = load_config(that_stays(write_config))

    await asyncio.wait_for(running.run_until_stopped(stays, NOTHING, {}), SOON_S)

    assert asyncio.all_tasks() == {asyncio.current_task()}, "nothing goes on behind it"
    assert "The config is in force" in caplog.text
    assert known[0].law.policy.limits.proposal_ttl_s == 600


@pytest.mark.parametrize(
    ("module", "source"), [("never_loaded", NEVER_LOADED), ("never_made", NEVER_MADE)]
)
def test_an_end_waits_for_no_module_that_is_never_loaded(
    write_config: Callable[..., Path],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    module: str,
    source: str,
) -> None:
    """The process lived on as long as the module of a tool did, and only SIGKILL ended it."""
    for pipe in ("began", "go_on"):
        os.mkfifo(tmp_path / pipe)
    (tmp_path / f"{module}.py").write_text(source)

    async def told_both(app: App) -> None:
        app.config.path.write_text(with_tool(app.config.path.read_text(), module))
        os.kill(os.getpid(), signal.SIGHUP)
        await asyncio.to_thread((tmp_path / "began").read_text)
        os.kill(os.getpid(), signal.SIGTERM)
        await asyncio.Event().wait()

    monkeypatch.setattr(running, "keep_database", told_both)
    monkeypatch.setattr(running, "GRACE_S", 0.1)
    stays = load_config(that_stays(write_config))
    too_late = threading.Timer(SOON_S, (tmp_path / "go_on").write_text, ["now"])
    too_late.start()

    pool.run(running.run_until_stopped(stays, NOTHING, {}))

    in_time = too_late.is_alive()
    too_late.cancel()
    assert in_time
    (tmp_path / "go_on").write_text("now")


async def test_a_storm_of_signals_is_one_reload_beside_that_which_is_under_way(
    write_config: Callable[..., Path],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Else the last one, which may take an account away, waits for all before it, and so does the
    end."""
    known: list[World] = []
    for pipe in ("began", "go_on"):
        os.mkfifo(tmp_path / pipe)
    (tmp_path / "made_late.py").write_text(NEVER_MADE)  # it is made as soon as `go_on` is written

    async def told_often(app: App) -> None:
        known.append(app.workflow.world)
        text = app.config.path.read_text()
        app.config.path.write_text(with_tool(text, "made_late"))
        os.kill(os.getpid(), signal.SIGHUP)
        await asyncio.to_thread((tmp_path / "began").read_text)
        for number in range(600, 700):
            app.config.path.write_text(text.replace("_ttl_s: 86400", f"_ttl_s: {number}"))
            os.kill(os.getpid(), signal.SIGHUP)
            await asyncio.sleep(0)  # in which the loop hears of it
        await asyncio.to_thread((tmp_path / "go_on").write_text, "now")
        os.kill(os.getpid(), signal.SIGTERM)
        await asyncio.Event().wait()

    monkeypatch.setattr(running, "keep_database", told_often)
    stays = load_config(that_stays(write_config))

    await asyncio.wait_for(running.run_until_stopped(stays, NOTHING, {}), SOON_S)

    assert known[0].law.policy.limits.proposal_ttl_s == 699
    assert caplog.text.count("The config is in force") == 2
