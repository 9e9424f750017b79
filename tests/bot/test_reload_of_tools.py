"""A reload that meets a tool of somebody's own which cannot be had changes nothing."""

from __future__ import annotations

import asyncio
import json
import signal
import sys
import threading
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from bot.bootstrap import App, opened
from bot.cli.app import app as signoff
from bot.config import load_config
from bot.storage.note import note_beside
from bot.tools.python import PythonTool
from lifecycle.ports import Call
from tests.fakes.discord_stage import until
from tests.fakes.notifier import PlainNotifier

AT_IMPORT = "import asyncio\nraise {}\n"
WHEN_MADE = """
import asyncio

class Tool:
    def __init__(self):
        raise {}

    def execute(self, call):
        return {{}}
"""
ENDS = [
    "SystemExit('hunter2')",
    "KeyboardInterrupt",
    "asyncio.CancelledError",
    "BaseExceptionGroup('x', [SystemExit()])",
]


@pytest.fixture
async def bot(write_config: Callable[..., Path]) -> AsyncIterator[App]:
    async with opened(load_config(write_config()), {}, PlainNotifier()) as app:
        await app.workflow.start()
        yield app
        await app.workflow.shut_down(1)


def with_a_tool(bot: App, source: str) -> str:
    """Give the config a tool with this module; return its text as it was."""
    module = f"own_{abs(hash(source))}"
    bot.config.path.with_name(f"{module}.py").write_text(source)
    own = f'own: {{tier: CONFIRM, action_type: execute, kind: python, class: "{module}:Tool"}}'
    text = bot.config.path.read_text()
    bot.config.path.write_text(text.replace("tools:\n", f"tools:\n  {own}\n", 1))
    return text


@pytest.mark.parametrize("source", [AT_IMPORT, WHEN_MADE], ids=["imported", "made"])
@pytest.mark.parametrize("end", ENDS)
async def test_a_tool_that_ends_the_program_ends_no_bot(bot: App, source: str, end: str) -> None:
    """A script that was no module said how it is used, and the bot that had loaded it ended."""
    before = bot.workflow.policy
    text = with_a_tool(bot, source.format(end))

    told = await bot.reload()

    assert "the old one stays in force" in told
    assert "hunter2" not in told
    assert bot.workflow.policy is bot.config.policy is before
    assert bot.config.database_file is not None
    assert (note_beside(bot.config.database_file) or {})["refused"]["why"] == told
    bot.config.path.write_text(text.replace("proposal_ttl_s: 86400", "proposal_ttl_s: 600"))
    assert "is in force" in await bot.reload()


def test_check_config_says_which_tool_would_end_the_program(
    write_config: Callable[..., Path],
) -> None:
    path = write_config()
    path.with_name("own_script.py").write_text("import sys\nsys.exit('usage: own_script')\n")
    own = 'own: {tier: CONFIRM, action_type: execute, kind: python, class: "own_script:Tool"}'
    path.write_text(path.read_text().replace("tools:\n", f"tools:\n  {own}\n", 1))

    ended = CliRunner().invoke(signoff, ["--config", str(path), "check-config", "--json"])

    (problem,) = json.loads(ended.stdout)["problems"]
    assert ended.exit_code == 2
    assert problem["key"] == "tools.own.class"
    assert "it ends the program" in str(problem)


TAKES_LONG = """
import threading

begun, told = threading.Event(), threading.Event()

class Tool:
    def __init__(self):
        begun.set()
        self.heard = told.wait(2)

    def execute(self, call):
        return {}
"""


async def test_a_tool_that_takes_long_to_be_made_keeps_nobody_waiting(bot: App) -> None:
    """A database that did not answer it kept the whole bot from hearing a stop, and its own end."""
    with_a_tool(bot, TAKES_LONG)
    module = f"own_{abs(hash(TAKES_LONG))}"
    reloading = asyncio.create_task(bot.reload())
    await until(
        lambda: (
            "Tool" in vars(sys.modules.get(module, object)) and sys.modules[module].begun.is_set()
        ),
        "being made",
    )
    sys.modules[module].told.set()

    assert "is in force" in await reloading
    tool = bot.toolbox.tool("own")
    assert isinstance(tool, PythonTool)
    assert tool._tool.heard, "the loop went on while it was made"


EXECUTES = """
    def execute(self, call):
        return {}
"""
A_CALL = Call("execute", "p1", "", "p1:execute:1", "own", {}, {}, None, "", 1.0)
STAGES = """
class Tool:
    reversible = deferred = True

    def __init__(self):
        self.staged = False

    def execute(self, call):
        self.staged = True
        return {}

    def commit(self, call):
        return {"sent": self.staged}

    def roll_back(self, call):
        return {}
"""


async def test_what_a_tool_has_staged_is_committed_after_a_reload(bot: App) -> None:
    """Another object was asked to commit it, which knew of nothing."""
    with_a_tool(bot, STAGES)
    assert "is in force" in await bot.reload()
    await bot.toolbox.tool("own").execute(A_CALL)
    text = bot.config.path.read_text()
    bot.config.path.write_text(text.replace("own: {", "own: {window_s: 60, ", 1))
    assert "is in force" in await bot.reload()

    assert bot.config.policy.tools["own"].window_s == 60
    assert await bot.toolbox.tool("own").commit(A_CALL) == {"sent": True}


NEEDS_A_LOOP = """
import asyncio

class Tool:
    def __init__(self, region="eu"):
        self.loop = asyncio.get_running_loop()

    async def execute(self, call):
        return {}
"""


async def test_a_tool_that_could_be_made_at_the_start_alone_stands_in_the_way_of_no_other_change(
    write_config: Callable[..., Path],
) -> None:
    """No token could be taken away from an agent any more, but by a restart."""
    path = write_config()
    path.with_name("needs_a_loop.py").write_text(NEEDS_A_LOOP)
    own = 'own: {tier: CONFIRM, action_type: execute, kind: python, class: "needs_a_loop:Tool"}'
    path.write_text(path.read_text().replace("tools:\n", f"tools:\n  {own}\n", 1))
    async with opened(load_config(path), {}, PlainNotifier()) as bot:
        await bot.workflow.start()
        assert "is in force" in await bot.reload()

        path.write_text(path.read_text().replace(':Tool"', ':Tool", options: {region: us}', 1))
        assert "needs_a_loop:Tool cannot be made" in await bot.reload()
        await bot.workflow.shut_down(1)


async def test_a_tool_that_is_never_made_holds_up_no_later_reload(
    bot: App, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever took a leaked token out of the config was told that all was well, and it counted."""
    source = TAKES_LONG.replace("told.wait(2)", "told.wait(60)")
    module = f"own_{abs(hash(source))}"
    before = with_a_tool(bot, source)
    with monkeypatch.context() as patch:
        patch.setattr("bot.bootstrap._MADE_S", 1.0)
        reloading = asyncio.create_task(bot.reload())
        await until(lambda: module in sys.modules, "being made")
        await asyncio.wait({reloading}, timeout=2)
    bot.config.path.write_text(before.replace("tools:\n", "tools:\n  # nothing else\n", 1))
    try:
        async with asyncio.timeout(2):
            assert "is in force" in await bot.reload()
    finally:
        sys.modules[module].told.set()
    assert "did not end within a minute" in await reloading


FAILS_LATE = """
import threading

told = threading.Event()

class Tool:
    def __init__(self):
        told.wait(20)
        raise ValueError
"""


async def test_a_refusal_of_what_stood_in_the_file_before_is_no_answer_to_a_reload(
    bot: App, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was under way when the file was mended: whoever mended it was told that nothing helped."""
    loop, reloads = asyncio.get_running_loop(), list[asyncio.Task[str]]()
    loop.add_signal_handler(
        signal.SIGHUP, lambda: reloads.append(asyncio.create_task(bot.reload()))
    )
    text, slow = with_a_tool(bot, FAILS_LATE), f"own_{abs(hash(FAILS_LATE))}"
    first = asyncio.create_task(bot.reload())
    await until(lambda: "Tool" in vars(sys.modules.get(slow, object)), "being made")
    mended = "text = 1\n" + TAKES_LONG
    bot.config.path.write_text(text)
    with_a_tool(bot, mended)
    gates = iter([(slow, "refused"), (f"own_{abs(hash(mended))}", "config")])

    def look(_pause_s: float) -> None:
        module, part = next(gates)
        before = (note_beside(database) or {}).get(part)
        while module not in sys.modules or (note_beside(database) or {}).get(part) == before:
            if module in sys.modules:
                vars(sys.modules[module]).get("told", threading.Event()).set()
            threading.Event().wait(0.01)

    database = bot.config.database_file
    assert database is not None
    monkeypatch.setattr(time, "sleep", look)
    line = ["--config", str(bot.config.path), "reload"]
    ended = await asyncio.to_thread(CliRunner().invoke, signoff, line)

    assert "could not be taken" in await first
    assert (ended.exit_code, "as it is now" in ended.stdout) == (0, True)
    assert "is in force" in await reloads[0]
    loop.remove_signal_handler(signal.SIGHUP)


@pytest.mark.parametrize("raises", ["pass", "raise ValueError"], ids=["in force", "refused"])
async def test_a_reload_says_which_code_was_changed_since_it_was_loaded(
    bot: App, raises: str
) -> None:
    """What was mended as the bot had said was refused again, and what works was called in force."""
    source = f"class Tool:\n    def __init__(self):\n        {raises}\n{EXECUTES}"
    with_a_tool(bot, source)
    file = bot.config.path.with_name(f"own_{abs(hash(source))}.py")
    assert "was changed since" not in await bot.reload()
    file.write_text(source.replace(raises, "self.mended = True"))

    told = await bot.reload()

    assert f"{file} was changed since the bot loaded it: restart the bot" in told
    assert ("is in force" in told) is (raises == "pass")
    file.write_text(source)
    assert "was changed since" not in await bot.reload()
