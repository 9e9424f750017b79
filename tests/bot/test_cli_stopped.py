"""Ctrl-C ends a long reading at its next step; before, the command went on to the trail's end."""

from __future__ import annotations

import io
import os
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from bot.cli.app import main
from bot.cli.stopping import stoppable
from tests.by_hand import by_hand
from tests.stage import staged

ENTRIES = 2_000
FILL = f"""
    WITH RECURSIVE n (i) AS (SELECT 100 UNION ALL SELECT i + 1 FROM n WHERE i < {ENTRIES})
    INSERT INTO audit
    SELECT i, at, proposal_id, kind, source, target, actor_kind, actor, surface, event_id, digest,
        policy_digest, reason, details, prev_hash, entry_hash
    FROM n, audit WHERE seq = 1
"""


@pytest.fixture
def ctrl_c() -> Iterator[None]:
    """A process in which Ctrl-C means what it means at a keyboard."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


class Stopping(io.StringIO):
    """Standard output at which Ctrl-C is typed once the first line stands there."""

    def write(self, text: str) -> int:
        if not self.getvalue():
            os.kill(os.getpid(), signal.SIGINT)
        return super().write(text)


@pytest.mark.usefixtures("ctrl_c")
def test_ctrl_c_ends_the_export_of_a_long_trail_at_its_next_line(
    config: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    stdout = Stopping()
    monkeypatch.setattr(sys, "stdout", stdout)
    monkeypatch.setattr(sys, "argv", ["signoff", "--config", str(config), "audit", "export"])

    with pytest.raises(SystemExit) as end:
        main()

    assert end.value.code == 1
    assert capsys.readouterr().err == "Stopped.\n"
    assert stdout.getvalue().count("\n") < ENTRIES / 2
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.usefixtures("ctrl_c")
def test_who_ignores_ctrl_c_goes_on_ignoring_it() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with stoppable() as step:
        os.kill(os.getpid(), signal.SIGINT)
        step()

    signal.signal(signal.SIGINT, signal.default_int_handler)
    with stoppable() as step:
        step()
        os.kill(os.getpid(), signal.SIGINT)
        with pytest.raises(KeyboardInterrupt):
            step()


@pytest.fixture
async def config(write_config: Callable[..., Path]) -> Path:
    """A config with a long trail."""
    config = write_config()
    async with staged("sqlite:///data/signoff.db", config.parent) as world:
        await world.submits(proposal_id="mail")
    by_hand(config.parent / "data" / "signoff.db", FILL)
    return config
