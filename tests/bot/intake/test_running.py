"""The running bot with HTTP on: a process of its own, from start to SIGTERM."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from shutil import copytree

import httpx
import pytest

from bot.clocks.clock import SystemClock
from tests.builders import PROD, a_document


@dataclass
class Running:
    url: str
    folder: Path
    process: subprocess.Popen[bytes]


def free_port() -> int:
    with socket.socket() as asking:
        asking.bind(("127.0.0.1", 0))
        return int(asking.getsockname()[1])


def configured(root: Path, folder: Path, port: int) -> None:
    text = (root / "config.yaml").read_text(encoding="utf-8")
    old = 'http: {enabled: false, host: 127.0.0.1, port: 8080, public_url: "http://127.0.0.1:8080"}'
    assert old in text
    new = f'http: {{enabled: true, port: {port}, public_url: "http://127.0.0.1:{port}"}}'
    (folder / "config.yaml").write_text(text.replace(old, new), encoding="utf-8")
    copytree(root / "examples", folder / "examples")


def started(root: Path, folder: Path, **options: object) -> Running:
    port = free_port()
    configured(root, folder, port)
    environment = {**os.environ, "SIGNOFF_TOKEN_LEILA": "leila-token"}
    for name in ("DISCORD_TOKEN", "SLACK_BOT_TOKEN"):
        environment.pop(name, None)
    process = subprocess.Popen(
        [sys.executable, "-m", "bot", "--config", str(folder / "config.yaml"), "run"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment,
        cwd=root,
        **options,
    )
    running = Running(f"http://127.0.0.1:{port}", folder, process)
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline and process.poll() is None:
        try:
            httpx.get(f"{running.url}/healthz", timeout=2)
        except httpx.TransportError:
            continue
        return running
    process.kill()
    raise AssertionError(process.communicate()[1].decode())


@pytest.fixture
def running(root: Path, tmp_path: Path) -> Iterator[Running]:
    bot = started(root, tmp_path)
    yield bot
    bot.process.kill()
    bot.process.communicate()


def test_http_alone_starts_takes_a_proposal_and_ends_with_0(running: Running) -> None:
    headers = {"authorization": "Bearer leila-token"}
    with httpx.Client(base_url=running.url, headers=headers, timeout=20) as leila:
        assert leila.get("/healthz").json()["status"] == "ok"
        document = a_document(PROD, ts_ms=SystemClock().now_ms(), proposal_id="p1")
        answer = leila.post("/v1/proposals", json=document)
        assert answer.status_code in (202, 422), answer.text
        assert leila.get("/v1/proposals").status_code == 200
    begun = time.monotonic()
    running.process.send_signal(signal.SIGTERM)
    _, said = running.process.communicate(timeout=15)
    assert running.process.returncode == 0, said.decode()
    assert time.monotonic() - begun < 10
    assert b"HTTP is on alone" in said
    assert b"leila-token" not in said


def test_a_port_that_is_taken_stops_the_start_with_a_sentence(running: Running, root: Path) -> None:
    folder = running.folder / "second"
    folder.mkdir()
    configured(root, folder, int(running.url.rpartition(":")[2]))
    done = subprocess.run(
        [sys.executable, "-m", "bot", "--config", str(folder / "config.yaml"), "run"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        cwd=root,
        timeout=30,
        check=False,
    )
    assert done.returncode == 1
    assert b"cannot listen" in done.stderr
    assert b"Traceback" not in done.stderr
