"""`signoff run` as a process of its own, on Slack: from a proposal to its end, over a restart."""

from __future__ import annotations

import asyncio
import os
import signal
import sqlite3
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from bot.clocks.clock import SystemClock
from tests.builders import MAIL, a_document
from tests.fakes.slack_server import SlackServer
from tests.slack_stage import eventually, shown

_BASE = Path(__file__).parents[2] / "base.yaml"
TOKENS = {"SLACK_BOT_TOKEN": "xoxb-fake", "SLACK_APP_TOKEN": "xapp-fake"}


def _config(folder: Path, server: SlackServer) -> Path:
    text = _BASE.read_text(encoding="utf-8")
    changes = (
        ("channel: C0OPS}", f"channel: C0OPS, api_base: {server.api_base}}}"),
        ("window_s: 900", "window_s: 2"),
        ("auto_approval: {by: nour, tiers: [PROPOSE]}\n", ""),
        ("domains: [shop.example]", "domains: [shop.example, partner.example]"),
        ('    discord: "911"\n', '    discord: "911"\n    slack: {team: T1, user: ULEILA}\n'),
    )
    for old, new in changes:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    path = folder / "config.yaml"
    path.write_text(text, encoding="utf-8")
    return path


@asynccontextmanager
async def _running(
    config: Path, root: Path, **tokens: str
) -> AsyncIterator[asyncio.subprocess.Process]:
    known = {key: os.environ[key] for key in ("PATH", "HOME", "LANG") if key in os.environ}
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "bot", "--config", str(config), "run"),
        env={**known, "PYTHONPATH": str(root), **tokens},
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.send_signal(signal.SIGTERM)
        output, _ = await asyncio.wait_for(process.communicate(), 20)
        assert b"Traceback" not in output, output.decode()
        assert b"xoxb-fake" not in output


async def _card(server: SlackServer, proposal_id: str) -> str:
    def look() -> str | None:
        found = [m for m in server.workspace.messages if f" {proposal_id} · sha256" in shown(m)]
        return found[0].ts if found and "x" in found[0].reactions else None

    return await eventually(look, "the card", deadline_s=30)


def _shows(server: SlackServer, ts: str, words: str) -> bool:
    message = server.workspace.find("C0OPS", ts)
    return message is not None and words in shown(message)


@asynccontextmanager
async def _with_a_card(
    server: SlackServer, config: Path, root: Path
) -> AsyncIterator[tuple[asyncio.subprocess.Process, str]]:
    """Run a bot that has posted the card of p1; yield its process and where the card stands."""
    async with _running(config, root, **TOKENS) as process:
        await eventually(lambda: server.sockets.open, "connecting", deadline_s=40)
        await server.proposes("ULEILA", _mail("p1"))
        yield process, await _card(server, "p1")


async def test_a_proposal_is_approved_closed_and_rolled_back_over_a_restart(
    tmp_path: Path, root: Path
) -> None:
    async with SlackServer() as server:
        config = _config(tmp_path, server)
        async with _with_a_card(server, config, root) as (process, first):
            await server.reacts("UANA", first)
            await eventually(lambda: _shows(server, first, "completed"), "closing", deadline_s=30)
            await server.proposes("ULEILA", _mail("p2", subject="two"))
            second = await _card(server, "p2")
        assert process.returncode == 0
        await server.reacts("UBEN", second, "x", heard=False)
        async with _running(config, root, **TOKENS):
            await eventually(lambda: _shows(server, second, "rejected"), "found", deadline_s=40)
        assert len([m for m in server.workspace.messages if " p2 · sha256" in shown(m)]) == 1


async def test_a_bot_that_slack_does_not_answer_stops_soon_and_owes_what_it_could_not_post(
    tmp_path: Path, root: Path
) -> None:
    async with SlackServer() as server:
        server.sockets.answers_goodbyes = False
        config = _config(tmp_path, server)
        async with _with_a_card(server, config, root) as (process, first):
            hanging = server.fails("*", "hangs", times=None)
            message = server.workspace.find("C0OPS", first)
            assert message is not None
            await server.presses("UBEN", message, "signoff_reject")
            await server.proposes("ULEILA", _mail("p2", subject="two"))
            await eventually(lambda: server.calls_of("views.open"), "the form")
            await eventually(lambda: hanging.seen > 1, "an answer")
            began_s = time.monotonic()
            process.send_signal(signal.SIGTERM)
            assert await asyncio.wait_for(process.wait(), 20) == 0
            assert time.monotonic() - began_s < 5
        hanging.times = 0
        async with _running(config, root, **TOKENS):
            await _card(server, "p2")
            answered = '"proposal_id": "p2"'
            await eventually(lambda: [m for m in server.workspace.messages if answered in m.text])
        assert len([m for m in server.workspace.messages if " p2 · sha256" in shown(m)]) == 1


async def test_a_bot_whose_database_somebody_holds_stops_soon_although_much_comes(
    tmp_path: Path, root: Path
) -> None:
    async with SlackServer() as server:
        config = _config(tmp_path, server)
        async with _with_a_card(server, config, root) as (process, first):
            held = sqlite3.connect(tmp_path / "data/signoff.db", isolation_level=None)
            held.execute("BEGIN IMMEDIATE")
            words = ["<@USIGNOFF> reject p1 no"] * 100
            said = [asyncio.create_task(server.says("UBEN", each)) for each in words]
            given = asyncio.create_task(server.reacts("UBEN", first, "x"))
            await eventually(lambda: len(server.sockets.envelopes) > len(said), "delivering")
            began_s = time.monotonic()
            process.send_signal(signal.SIGTERM)
            assert await asyncio.wait_for(process.wait(), 30) == 0
            assert time.monotonic() - began_s < 7
            held.close()
        await asyncio.gather(*said, given)


async def test_a_wrong_token_is_one_sentence_and_an_exit_code(tmp_path: Path, root: Path) -> None:
    async with SlackServer() as server:
        config = _config(tmp_path, server)
        tokens = {"SLACK_BOT_TOKEN": "xoxb-wrong", "SLACK_APP_TOKEN": "xapp-fake"}
        async with _running(config, root, **tokens) as process:
            assert process.stdout is not None
            output = await asyncio.wait_for(process.stdout.read(), 40)
            assert await process.wait() != 0
        assert b"bot_token_env" in output
        assert b"xoxb-wrong" not in output


def _mail(proposal_id: str, subject: str = "one") -> dict[str, object]:
    parameters = {"to": "pat@partner.example", "subject": subject, "body": "Hello"}
    now_ms = SystemClock().now_ms()
    return a_document(MAIL, proposal_id=proposal_id, ts_ms=now_ms, parameters=parameters)
