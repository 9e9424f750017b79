"""What an account that is not root meets: a copy where nothing can be written, keys of others'."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from tests.by_hand import by_hand
from tests.processes import unprivileged
from tests.stage import staged

#: Runs commands in one process and says how each ended; then a copy is written while it is read.
PROGRAM = """
import json, sys
from pathlib import Path
from typer.testing import CliRunner
from bot.cli.app import app
from bot.storage.connection import CannotOpen
from bot.storage.opening import undisturbed

config, alone, newest, target = sys.argv[1:]
def run(database, *words):
    text = Path(config).read_text().replace("sqlite:///data/signoff.db", f"sqlite:///{database}")
    Path(config).with_name("other.yaml").write_text(text)
    done = CliRunner().invoke(app, ["--config", str(Path(config).with_name("other.yaml")), *words])
    return [done.exit_code, done.output + str(done.exception or "")]
told = [
    run(alone, "audit", "verify"),
    run(alone, "backup", target),
    run(newest, "audit", "verify"),
    run(newest, "backup", target + "2"),
]
try:
    with undisturbed(Path(alone)), Path(alone).open("ab") as file:
        file.write(b"more")
except CannotOpen as error:
    told.append([1, str(error)])
print(json.dumps(told))
"""


def test_keys_that_this_account_may_not_read_are_a_config_that_cannot_be_used(
    root: Path, write_config: Callable[..., Path]
) -> None:
    """Whoever rotates them as root leaves a file of root's; starting again reads it no better."""
    config = write_config()
    keys = config.parent / "data" / "permit.keys"
    keys.parent.mkdir(exist_ok=True)
    keys.touch(mode=0o000)

    done = subprocess.run(
        unprivileged(sys.executable, "-m", "bot", "--config", str(config), "run"),
        cwd=root,
        input="",
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert (done.returncode, "may not be read by this account" in done.stderr) == (2, True), done


async def test_a_copy_in_a_sealed_folder_is_read_there_unless_its_newest_commits_are_out_of_reach(
    tmp_path: Path, root: Path, write_config: Callable[..., Path]
) -> None:
    async with staged("sqlite:///signoff.db", tmp_path / "lived") as world:
        await world.submits(proposal_id="mail")
        newest = tmp_path / "newest"
        newest.mkdir()
        for name in ("signoff.db", "signoff.db-wal"):
            shutil.copy(tmp_path / "lived" / name, newest)
    alone = tmp_path / "alone"
    alone.mkdir()
    shutil.copy(tmp_path / "lived" / "signoff.db", alone)
    for folder in (alone, newest):
        folder.chmod(0o555)

    places = (write_config(), alone / "signoff.db", newest / "signoff.db", tmp_path / "copy.db")
    done = subprocess.run(  # noqa: ASYNC221 - nobody else waits for the loop of a test
        unprivileged(sys.executable, "-c", PROGRAM, *map(str, places)),
        env={**os.environ, "PYTHONPATH": str(root)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    for folder in (alone, newest):
        folder.chmod(0o755)
    assert done.returncode == 0, done.stderr
    verified, copied, *unreachable, changed = json.loads(done.stdout)
    assert (verified[0], "every link holds" in verified[1]) == (0, True), verified
    assert copied[0] == 0
    assert by_hand(tmp_path / "copy.db", "SELECT proposal_id FROM proposals") == [("mail",)]
    for code, words in unreachable:
        assert code == 1
        assert "The newest commits of" in words
    assert "was changed while it was read" in changed[1]
