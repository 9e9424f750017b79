"""A bot whose name server does not answer ends all the same."""

from __future__ import annotations

import signal

import yaml

from tests.processes import Process

#: Python loads it at its start: names are asked for, and nobody answers.
SILENT = "import socket, time\nsocket.getaddrinfo = lambda *_, **__: time.sleep(3600)\n"


def with_a_server_nobody_finds(bot: Process) -> None:
    """Let each search be a call of a server whose name the name server is asked for."""
    (bot.folder / "sitecustomize.py").write_text(SILENT)
    bot.environment["PYTHONPATH"] += f":{bot.folder}"
    path = bot.folder / "config.yaml"
    config = yaml.safe_load(path.read_text())
    there = {"kind": "webhook", "url": "http://search.shop.example/", "timeout_s": 1}
    config["tools"]["search"] = {"tier": "AUTO", "action_type": "read"} | there
    path.write_text(yaml.safe_dump(config))


def test_the_end_waits_for_no_name_that_a_call_asked_for(bot: Process) -> None:
    with_a_server_nobody_finds(bot)
    bot.start()
    bot.answer("leila: propose @examples/search.json")

    bot.send(signal.SIGTERM)

    assert bot.ends_within(10) == 0, bot.complaints()
