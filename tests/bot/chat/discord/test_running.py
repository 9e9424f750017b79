"""`signoff run` as a process of its own, with the shipped config, on a Discord server of ours."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from tests.fakes.discord_server import DiscordServer
from tests.fakes.discord_server.state import Message
from tests.fakes.discord_stage import until

ANA, LEILA, TICK, CROSS = "1001", "911", "✅", "❌"
WINDOW_S = 3


class Running:
    """One process of the bot after another, over the same folder."""

    def __init__(self, folder: Path, root: Path, server: DiscordServer) -> None:
        self.folder, self.root, self.server = folder, root, server
        self.process: asyncio.subprocess.Process | None = None

    async def begins(self, token: str | None = None) -> None:
        known = {key: os.environ[key] for key in ("PATH", "HOME", "LANG") if key in os.environ}
        self.process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "bot", "run"),
            cwd=self.folder,
            env={
                **known,
                "PYTHONPATH": str(self.root),
                "DISCORD_TOKEN": token or self.server.token,
            },
            stdin=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.PIPE,
        )

    async def hears(self) -> None:
        sessions = self.server.gateway.sessions
        await until(lambda: any(each.socket for each in sessions.values()), "heard", seconds=40)

    async def ends(self, how: int = signal.SIGTERM) -> int:
        assert self.process is not None
        if self.process.returncode is None:
            self.process.send_signal(how)
        return await asyncio.wait_for(self.process.wait(), 15)

    def proposes(self, proposal_id: str, **changes: Any) -> None:
        document = json.loads((self.root / "examples" / "mail.json").read_text())
        document |= {"proposal_id": proposal_id, **changes}
        document.pop("ts_ms", None)
        document["ts_ms"] = _now_ms()
        self.server.says(LEILA, f"!propose ```json\n{json.dumps(document)}\n```")

    async def card(self, proposal_id: str, holding: str = "") -> Message:
        def stands() -> Message | None:
            for card in reversed(self.server.cards()):
                text = json.dumps(card.data["embeds"], ensure_ascii=False)
                if f'"{proposal_id} ·' in text and holding in text:
                    return card
            return None

        return await until(stands, f"{proposal_id} {holding}", seconds=30)  # type: ignore[no-any-return]


def _now_ms() -> int:
    import time

    return time.time_ns() // 1_000_000


@pytest.fixture
async def running(tmp_path: Path, root: Path, server: DiscordServer) -> AsyncIterator[Running]:
    shutil.copytree(root / "examples", tmp_path / "examples")
    yaml = YAML()
    config = yaml.load((root / "config.yaml").read_text())
    people = config["people"]
    first = next(iter(people))
    people[first]["discord"] = ANA
    agent = config["agents"]["leila"]
    agent["discord"] = LEILA
    config["tools"]["send-email"]["window_s"] = WINDOW_S
    config["chat"]["discord"] = {
        "token_env": "DISCORD_TOKEN",
        "guild": "700",
        "channel": "701",
        "api_base": server.api_base,
        "gateway": server.gateway_url,
    }
    with (tmp_path / "config.yaml").open("w") as file:
        yaml.dump(config, file)
    bot = Running(tmp_path, root, server)
    yield bot
    if bot.process is not None and bot.process.returncode is None:
        await bot.ends(signal.SIGKILL)


async def test_a_proposal_lives_its_whole_life_on_discord(running: Running) -> None:
    await running.begins()
    await running.hears()
    running.proposes("life-1")
    card = await running.card("life-1", "waits for people")
    running.server.reacts(ANA, card, TICK)
    await running.card("life-1", "executing")
    await running.card("life-1", "window_closed_unopposed")

    running.proposes(
        "life-2", parameters={"to": "pat@partner.example", "subject": "2", "body": "2"}
    )
    card = await running.card("life-2", "waits for people")
    running.server.reacts(ANA, card, TICK)
    await running.card("life-2", "execute done")
    assert await running.ends(signal.SIGKILL) != 0
    await until(lambda: not running.server.gateway.sockets, "gone")
    running.server.reacts(ANA, card, CROSS)
    await running.begins()
    await running.card("life-2", "rolled_back_by_person")
    assert await running.ends() == 0


async def test_a_wrong_token_ends_the_start_with_a_sentence(running: Running) -> None:
    await running.begins("a.wrong.t0k3n")
    assert running.process is not None
    assert running.process.stderr is not None
    said = (await asyncio.wait_for(running.process.stderr.read(), 40)).decode()
    assert await running.process.wait() == 1
    assert "DISCORD_TOKEN" in said
    assert "Traceback" not in said
    assert "t0k3n" not in said
