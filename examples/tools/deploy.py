"""Deploy a version to a site: data/sites/<domain>.json says which version is live.

A tool to copy: it needs no other file. It is compensated: it acts at once and can restore what was.
It reads one JSON object, the call, from standard input and prints one, the receipt. Exit 0 says
done, exit 10 failed with nothing left behind, anything else that nobody knows. It runs in the
folder of config.yaml.
"""

from __future__ import annotations

import json
import os
import re
import sys
from hashlib import sha256
from pathlib import Path
from typing import Any

DATA = Path("data")


class Failed(Exception):
    """Nothing was done."""


def execute(call: dict[str, Any]) -> dict[str, Any]:
    """Make a version live and keep the one before; a call that was served is answered again."""
    served = DATA / "done" / f"{_fingerprint(call)}.json"
    if served.exists():
        return json.loads(served.read_bytes())
    domain = _name(call["target"]["domain"], "domain of the target")
    version = _name(call["parameters"].get("version"), "parameter version")
    site = DATA / "sites" / f"{domain}.json"
    kept = DATA / "kept" / _document(call)
    live = {"domain": domain, "version": version, "proposal_id": call["proposal_id"]}
    content = json.dumps(live, indent=2) + "\n"
    found = site.read_bytes().decode() if site.exists() else None
    if found is None:
        kept.unlink(missing_ok=True)
    elif found != content:  # else a call died halfway, perhaps an earlier attempt: it was kept
        _write(kept, found)
    before = json.loads(kept.read_bytes())["version"] if kept.exists() else None
    _write(site, content)
    receipt = {
        "tool": call["tool"],
        "path": str(site),
        "written": sha256(content.encode()).hexdigest(),
        "kept": str(kept) if kept.exists() else None,
        "version": version,
        "previous_version": before,
        "affected_records": 1,
        "effects": ["deploy"],
    }
    _write(served, json.dumps(receipt))
    return receipt


def roll_back(call: dict[str, Any]) -> dict[str, Any]:
    """Make the version before live again, to the byte, unless somebody deployed since."""
    receipt = call["receipt"]
    site, kept = Path(receipt["path"]), receipt["kept"]
    now = sha256(site.read_bytes()).hexdigest() if site.exists() else None
    before = sha256(Path(kept).read_bytes()).hexdigest() if kept else None
    if now not in (receipt["written"], before):
        return {"still_stands": [f"{site} was changed by somebody else since; it was left alone"]}
    if kept:
        _write(site, Path(kept).read_bytes().decode())
    else:
        site.unlink(missing_ok=True)
    return {"path": str(site), "restored": True, "still_stands": []}


def _fingerprint(call: dict[str, Any]) -> str:
    """Return a file name that stands for the call: for its key and the document it carries out.

    Beside another database the same ids, and with them the same keys, come again.
    """
    return sha256(f"{call['idempotency_key']} {call['digest']}".encode()).hexdigest()[:40]


def _document(call: dict[str, Any]) -> str:
    """Return a file name that stands for the document: a retry comes with a key of its own, and
    what stood there before the first attempt is what is to be restored."""
    return sha256(call["digest"].encode()).hexdigest()[:40]


def _name(value: object, what: str) -> str:
    """Return a value that may be a file name: no path, no leading point."""
    if not isinstance(value, str) or not re.fullmatch(r"\w[\w.-]{0,63}", value, re.ASCII):
        raise Failed(f"the {what} is no name of letters, digits, '.', '_' and '-', 64 at most")
    return value


def _write(path: Path, content: str) -> None:
    """Write a file that is whole or not there, also after a power cut."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(path.name + ".part")
    with part.open("w", encoding="utf-8", newline="") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    part.replace(path)


VERBS = {"execute": execute, "roll_back": roll_back}


def main() -> None:
    """Run the verb that the first argument names."""
    verb = sys.argv[1] if len(sys.argv) > 1 else "execute"
    try:
        if verb not in VERBS:
            raise Failed(f"this tool knows {', '.join(VERBS)}, not {verb!r}")
        receipt = VERBS[verb](json.load(sys.stdin))
    except Failed as failure:
        print(failure, file=sys.stderr)
        sys.exit(10)
    print(json.dumps(receipt))


main()
