"""What `signoff run -v` tells of the calls that the bot makes: not the whole address."""

from __future__ import annotations

import os
import subprocess
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Event, Thread

import httpx

from bot.clocks.clock import SystemClock
from tests.bot.intake.test_running import configured, free_port
from tests.builders import PROD, a_document

TOKENS = {
    "SIGNOFF_TOKEN_LEILA": "the-token-of-leila",
    "CALLBACK_SECRET": "whsec_c2VjcmV0LXRoYXQtc2lnbnMtY2FsbGJhY2tz",
}


def test_the_query_of_an_address_that_is_called_stands_in_no_log(
    root: Path, tmp_path: Path
) -> None:
    port, called = free_port(), Event()
    server = HTTPServer(("127.0.0.1", 0), _answering(called))
    Thread(target=server.serve_forever, daemon=True).start()
    told = f"http://127.0.0.1:{server.server_port}/told?sig=of-the-webhook"
    config = _calling_back(root, tmp_path, port, told)
    with subprocess.Popen(
        [sys.executable, "-m", "bot", "--config", str(config), "run", "-v"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        env={**os.environ, **TOKENS},
        cwd=root,
    ) as process:
        _propose(port)
        assert called.wait(20)
        process.terminate()
        said = process.communicate(timeout=20)[1].decode()
    server.shutdown()
    server.server_close()
    assert process.returncode == 0, said
    assert "INFO" in said
    assert [each for each in ("of-the-webhook", *TOKENS.values()) if each in said] == []


def _answering(called: Event) -> type[BaseHTTPRequestHandler]:
    class Told(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["content-length"]))
            self.send_response(204)
            self.end_headers()
            called.set()

        def log_message(self, *_: object) -> None:
            pass

    return Told


def _calling_back(root: Path, folder: Path, port: int, url: str) -> Path:
    configured(root, folder, port)
    config = folder / "config.yaml"
    text = config.read_text(encoding="utf-8")
    old = "    token_env: SIGNOFF_TOKEN_LEILA"
    assert text.count(old) == 1
    more = f'    callback_url: "{url}"\n    callback_secret_env: CALLBACK_SECRET\n'
    config.write_text(text.replace(old, more + old), encoding="utf-8")
    return config


def _propose(port: int) -> None:
    """Propose what is refused at once, and told to its agent, as soon as the door is open."""
    document = a_document(PROD, ts_ms=SystemClock().now_ms(), tool="staging-deploy")
    with httpx.Client(transport=httpx.HTTPTransport(retries=8)) as client:
        answer = client.post(
            f"http://127.0.0.1:{port}/v1/proposals",
            json=document,
            headers={"authorization": f"Bearer {TOKENS['SIGNOFF_TOKEN_LEILA']}"},
            timeout=20,
        )
    assert answer.json()["state"] == "rejected", answer.text
