"""Freezing, thawing, verifying, copying and listing load no rule and no tool that others wrote.

Such code may ask a server as it is loaded, and wait for ever where that one is dead.
"""

from __future__ import annotations

import json
import shutil
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.processes import Process

TOOL = """\
class Crm:
    reversible = False

    def execute(self, call):
        return {}
"""
EXAMPLE = ROOT / "examples" / "rules" / "house_rules" / "subject_present.py"
ENTRY_POINT = "[sentinel_rules]\nsubject_present = guest\n"
FUTURE = "from __future__ import annotations\n"
OF_A_TOOL = "  crm: {tier: CONFIRM, action_type: write, kind: python, class: 'guest:Crm'}\n"
OF_A_RULE = "  subject_present: {level: hard, longest: 60}\n"


@pytest.fixture
def dead() -> Iterator[socket.socket]:
    """A server that never says anything; whoever waits for it is let go at the end of the test."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        yield server


@pytest.fixture(params=["tool", "rule"])
def guest(request: pytest.FixtureRequest, bot: Process) -> Path:
    """The module of a tool, or of a rule of another package, that the config names."""
    module = bot.folder / "guest.py"
    if request.param == "tool":
        module.write_text(FUTURE + TOOL)
        _configured(bot, "tools:", OF_A_TOOL)
        return module
    shutil.copy(EXAMPLE, module)
    facts = bot.folder / "guest-1.0.dist-info"
    facts.mkdir()
    (facts / "METADATA").write_text("Metadata-Version: 2.1\nName: guest\nVersion: 1.0\n")
    (facts / "entry_points.txt").write_text(ENTRY_POINT)
    bot.environment["PYTHONPATH"] += f":{bot.folder}"
    _configured(bot, "sentinel:", OF_A_RULE)
    return module


def _configured(bot: Process, section: str, entry: str) -> None:
    path = bot.folder / "config.yaml"
    text = path.read_text()
    assert text.count(f"\n{section}\n") == 1
    path.write_text(text.replace(f"\n{section}\n", f"\n{section}\n{entry}"))


def _asks(module: Path, server: socket.socket) -> None:
    """Let the module wait for a server when it is loaded."""
    waits = f"import socket\n\nsocket.create_connection({server.getsockname()!r}).recv(1)\n"
    text = module.read_text()
    assert text.count(FUTURE) == 1
    module.write_text(text.replace(FUTURE, FUTURE + waits))


def test_no_brake_waits_for_code_that_hangs_while_it_is_loaded(
    bot: Process, guest: Path, dead: socket.socket
) -> None:
    bot.start()
    bot.ask("status")
    _asks(guest, dead)

    assert bot.beside("freeze", "the crm is down").returncode == 0
    assert bot.answer("leila: propose @examples/search.json")["state"] == "sentinel_approved"
    assert bot.beside("backup", "copy.db").returncode == 0
    assert bot.beside("thaw").returncode == 0
    tracked = bot.answer("leila: propose @examples/tracker.json")
    assert tracked["state"] == "completed"
    assert bot.beside("audit", "verify").returncode == 0
    assert bot.beside("pending").returncode == 0
    for command in ("explain", "show"):
        assert bot.beside(command, tracked["proposal_id"], "--json").returncode == 0
    with pytest.raises(BlockingIOError):
        dead.accept()  # nobody has asked it


def test_a_freeze_beside_a_bot_stands_in_the_trail_under_the_policy_of_that_bot(
    bot: Process,
) -> None:
    """Its rules are not loaded for that, and the config may have been edited since."""
    bot.start()
    bot.ask("status")
    path = bot.folder / "config.yaml"
    path.write_text(path.read_text().replace("refusal_binds_s: 3600", "refusal_binds_s: 60"))

    assert bot.beside("freeze", "odd mails").returncode == 0
    assert bot.beside("thaw").returncode == 0

    entries = [json.loads(line) for line in bot.beside("audit", "export").stdout.splitlines()]
    told = {entry["kind"]: entry["policy_digest"] for entry in entries}
    assert told["frozen"] == told["thawed"] == told["policy_adopted"] != ""
