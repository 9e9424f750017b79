"""A class of somebody's own reads relative paths where the bot was started: they are judged there,
too."""

from __future__ import annotations

import json
import os
from contextlib import chdir
from pathlib import Path

import pytest

from bot.bootstrap import opened
from bot.config import load_config
from bot.tools.python import started_in
from lifecycle.answers import Sender
from lifecycle.proposal import ActorKind
from tests.bot.conftest import BASE
from tests.builders import MAIL, a_document
from tests.fakes.notifier import PlainNotifier

READER = """
from pathlib import Path


class Tool:
    def execute(self, call):
        return {"read": Path(call.parameters["path"]).read_text()}
"""
LEILA = Sender("terminal", ActorKind.AGENT, "leila", account="leila")


def a_config(folder: Path) -> Path:
    """Write a config with a tool that reads files below its root, and one such file."""
    text = BASE.read_text(encoding="utf-8")
    own = 'own: {tier: AUTO, action_type: read, kind: python, class: "reads_a_file:Tool"}'
    text = text.replace("tools:\n", f"tools:\n  {own}\n", 1)
    text = text.replace("roots: {}", "roots: {own: work}")
    (folder / "work").mkdir(parents=True)
    (folder / "work" / "a").write_text("inside")
    (folder / "reads_a_file.py").write_text(READER)
    path = folder / "config.yaml"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize("started", ["config", "elsewhere"])
async def test_a_relative_path_is_judged_where_a_class_reads_it(
    tmp_path: Path, started: str
) -> None:
    config = a_config(tmp_path / "config")
    (tmp_path / "elsewhere" / "work").mkdir(parents=True)
    (tmp_path / "elsewhere" / "work" / "a").write_text("outside")

    with chdir(tmp_path / started):
        async with opened(load_config(config), {}, PlainNotifier()) as app:
            now_ms = app.workflow.world.clock.now_ms()
            document = a_document(
                MAIL, tool="own", action_type="read", parameters={"path": "work/a"}
            )
            raw = json.dumps(document | {"ts_ms": now_ms, "time_window": None}).encode()
            answer = await app.workflow.submit(raw, LEILA)
            await app.workflow.idle()

    assert "outside" not in json.dumps(answer.as_json()["result"])
    expected = (
        ("completed", "tool_succeeded")
        if started == "config"
        else ("rejected", "blast_radius_bounded")
    )
    assert (answer.state, answer.reason) == expected, answer.explanation


def test_a_folder_that_is_gone_is_no_place_to_read_from(tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    with chdir(gone):
        assert started_in() == str(gone)
        gone.rmdir()
        assert started_in() == ""
        os.chdir(tmp_path)
