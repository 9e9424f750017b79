"""What the sample tools share: reading the call, keeping receipts, files that are whole or absent.

A tool is a program. It reads one JSON object, the call, from standard input and prints one, the
receipt. Exit 0 says done, exit 10 says failed with nothing left behind, anything else that nobody
knows. It runs in the folder of config.yaml, so that `data/…` is the bot's own data folder.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any, NoReturn

Call = dict[str, Any]
Receipt = dict[str, Any]

DATA = Path("data")
_KEPT = DATA / "kept"
_DONE = DATA / "done"
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,63}")


class Failed(Exception):
    """Nothing was done."""


def serve(verbs: dict[str, Callable[[Call], Receipt]]) -> NoReturn:
    """Run the verb that the first argument names, `execute` without one."""
    verb = sys.argv[1] if len(sys.argv) > 1 else "execute"
    try:
        if verb not in verbs:
            raise Failed(f"this tool knows {', '.join(verbs)}, not {verb!r}")
        receipt = verbs[verb](json.load(sys.stdin))
    except Failed as failure:
        print(failure, file=sys.stderr)
        sys.exit(10)
    print(json.dumps(receipt))
    sys.exit(0)


def once(act: Callable[[Call], Receipt]) -> Callable[[Call], Receipt]:
    """Make an action that answers a repeated call with the receipt of the first time."""

    def act_once(call: Call) -> Receipt:
        memory = _DONE / (fingerprint(call) + ".json")
        if memory.exists():
            return json.loads(memory.read_text())
        receipt = act(call)
        write(memory, json.dumps(receipt | {"tool": call["tool"]}))
        return receipt

    return act_once


def receipts() -> list[Receipt]:
    """Return the receipts of earlier calls, the newest first."""
    files = sorted(_DONE.glob("*.json"), key=lambda file: file.stat().st_mtime, reverse=True)
    return [json.loads(file.read_text()) for file in files]


def fingerprint(call: Call) -> str:
    """Return a file name that stands for the call: for its key and the document it carries out.

    Beside another database the same ids, and with them the same keys, come again.
    """
    return sha256(f"{call['idempotency_key']} {call['digest']}".encode()).hexdigest()[:40]


def of_document(call: Call) -> str:
    """Return a file name that stands for the document, whichever attempt this is.

    A person's retry comes with a key of its own, and goes on where an attempt ended that did not
    tell how.
    """
    return sha256(call["digest"].encode()).hexdigest()[:40]


def text(call: Call, name: str) -> str:
    """Return a parameter that must be text."""
    value = call["parameters"].get(name)
    if not isinstance(value, str) or not value.strip():
        raise Failed(f"the parameter {name} must be text")
    return value


def plain_name(value: str) -> str:
    """Return a value that may be a file name: no path, no leading point."""
    if not _NAME.fullmatch(value):
        raise Failed("a name is made of letters, digits, '.', '_' and '-', 64 at most")
    return value


def write(path: Path, content: str) -> None:
    """Write a file that is whole or not there, also after a power cut."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(path.name + ".part")
    with part.open("w", encoding="utf-8", newline="") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    part.replace(path)


def replace(path: Path, content: str, call: Call) -> Receipt:
    """Put new content in a file and keep what stood there; `restore` takes the receipt.

    What stood there before the first attempt is kept: a retry may find what that one wrote.
    """
    kept = _KEPT / of_document(call)
    nothing = kept.with_name(kept.name + ".nothing")
    found = path.read_bytes().decode() if path.exists() else None
    ours = found == content and (kept.exists() or nothing.exists())
    if not ours:
        write(nothing if found is None else kept, found or "")
        (kept if found is None else nothing).unlink(missing_ok=True)
    write(path, content)
    return {
        "path": str(path),
        "written": sha256(content.encode()).hexdigest(),
        "kept": str(kept) if kept.exists() else None,
    }


def restore(receipt: Receipt) -> Receipt:
    """Put back exactly what `replace` found, unless somebody wrote to the file since."""
    path, kept = Path(receipt["path"]), receipt["kept"]
    now = sha256(path.read_bytes()).hexdigest() if path.exists() else None
    before = sha256(Path(kept).read_bytes()).hexdigest() if kept else None
    if now not in (receipt["written"], before):
        return {"still_stands": [f"{path} was changed by somebody else since; it was left alone"]}
    if kept:
        write(path, Path(kept).read_bytes().decode())
    else:
        path.unlink(missing_ok=True)
    return {"path": str(path), "restored": True, "still_stands": []}
