"""A bot whose tools hang where Python would wait for them at its end ends all the same."""

from __future__ import annotations

import json
import signal

import pytest
import yaml

from tests.processes import Process

IN_A_POOL_OF_ITS_OWN = """
import time
from concurrent.futures import ThreadPoolExecutor

class Tool:
    def execute(self, call):
        with ThreadPoolExecutor() as pool:
            return pool.submit(time.sleep, 600).result()
"""
IN_THE_POOL_OF_THE_LOOP = """
import asyncio
import time

class Tool:
    async def execute(self, call):
        await asyncio.to_thread(time.sleep, 600)
        return {}
"""


@pytest.mark.parametrize("source", [IN_A_POOL_OF_ITS_OWN, IN_THE_POOL_OF_THE_LOOP])
def test_a_bot_whose_tool_hangs_in_a_thread_ends_in_time(bot: Process, source: str) -> None:
    (bot.folder / "own_tool.py").write_text(source)
    path = bot.folder / "config.yaml"
    config = yaml.safe_load(path.read_text())
    own = {"kind": "python", "class": "own_tool:Tool", "timeout_s": 1}
    config["tools"]["search"] = {"tier": "AUTO", "action_type": "read", **own}
    path.write_text(yaml.safe_dump(config))
    bot.start()

    answer = bot.answer("leila: propose @examples/search.json")
    bot.send(signal.SIGTERM)

    assert "did not answer within 1 s" in json.dumps(answer)
    assert bot.ends_within(10) == 0
