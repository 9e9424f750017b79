"""A SIGHUP that comes while the bot starts is a reload: the config may have been read before it."""

from __future__ import annotations

import os

import pytest

from tests.processes import Process

#: A tool that changes the config and asks for a reload, once, as it is imported or made.
ASKS = """
import os, pathlib, signal


def ask():
    fresh = pathlib.Path("fresh.yaml")
    if fresh.exists():
        fresh.rename("config.yaml")
        os.kill(os.getpid(), signal.SIGHUP)


class Asks:
    def __init__(self):
        ask()

    async def execute(self, call):
        return {}
"""
TOOL = "tools:\n  asks: {tier: AUTO, action_type: read, kind: python, class: 'asks:Asks'}\n"
SEARCH = "  search:\n    tier: "


@pytest.mark.parametrize(
    "at_import", ["", "ask()"], ids=["as its tools are made", "as its config is checked"]
)
def test_it_is_carried_out(bot: Process, at_import: str) -> None:
    """It was forgotten, and an agent went on with what the new config had taken from it."""
    config = bot.folder / "config.yaml"
    text = config.read_text().replace("tools:\n", TOOL, 1)
    config.write_text(text)
    (bot.folder / "fresh.yaml").write_text(text.replace(f"{SEARCH}AUTO", f"{SEARCH}CONFIRM"))
    (bot.folder / "asks.py").write_text(ASKS + at_import)
    bot.environment["PYTHONPATH"] += f"{os.pathsep}{bot.folder}"
    bot.start()

    bot.complains_of("The config is in force")

    assert bot.answer("leila: propose @examples/search.json")["tier"] == "CONFIRM"
