"""The sample tools in a machine whose locale lacks the letters of what they read."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

#: Python knows nothing but ASCII then.
ASCII = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}


def test_a_record_is_read_as_utf_8_whatever_the_locale_of_the_machine(
    tmp_path: Path, root: Path
) -> None:
    """It was read as other letters, or not at all, and its call was in doubt."""
    record = tmp_path / "data/records/leads/partner.json"
    record.parent.mkdir(parents=True)
    record.write_text('{"owner": "Zoë"}', encoding="utf-8")

    done = subprocess.run(
        [sys.executable, root / "examples/tools/notes.py", "read"],
        input=json.dumps({"parameters": {"dataset": "leads", "record": "partner"}}).encode(),
        capture_output=True,
        cwd=tmp_path,
        env={**os.environ, **ASCII},
        check=False,
    )

    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {"record": {"owner": "Zoë"}}
