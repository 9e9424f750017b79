"""Holds what the sample tools share: they read the call, keep receipts, and write whole files.

A tool is a program. It reads one JSON object, the call, from standard input, and prints another
one, the receipt. Exit code 0 means done, and 10 means failed with nothing left behind. With any
other code nobody knows what was done. The program runs in the folder of config.yaml, so that
`data/…` is the bot's own data folder.
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
    """The tool failed and left nothing behind; `serve` ends it with exit code 10."""


def serve(verbs: dict[str, Callable[[Call], Receipt]]) -> NoReturn:
    """Run the verb that the first argument names, or `execute`; print the receipt and exit."""
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
    """Return an action that answers a repeated call with the receipt of the first one."""

    def act_once(call: Call) -> Receipt:
        memory = _DONE / (fingerprint(call) + ".json")
        if memory.exists():
            return json.loads(memory.read_text(encoding="utf-8"))
        receipt = act(call)
        write(memory, json.dumps(receipt | {"tool": call["tool"]}))
        return receipt

    return act_once


def receipts() -> list[Receipt]:
    """Return the receipts of earlier calls, the newest first."""
    files = sorted(_DONE.glob("*.json"), key=lambda file: file.stat().st_mtime, reverse=True)
    return [json.loads(file.read_text(encoding="utf-8")) for file in files]


def fingerprint(call: Call) -> str:
    """Return a file name that stands for the call, made of its key and the digest of its document.

    The key is not enough: with another database the same ids, and so the same keys, come again.
    """
    return sha256(f"{call['idempotency_key']} {call['digest']}".encode()).hexdigest()[:40]


def of_document(call: Call) -> str:
    """Return a file name that stands for the document, the same for every attempt at it.

    A person's retry has a key of its own, and must find what an attempt left whose outcome is
    unknown.
    """
    return sha256(call["digest"].encode()).hexdigest()[:40]


def text(call: Call, name: str) -> str:
    """Return a parameter of the call. Raises Failed unless it is text and not blank."""
    value = call["parameters"].get(name)
    if not isinstance(value, str) or not value.strip():
        raise Failed(f"the parameter {name} must be text")
    return value


def plain_name(value: str) -> str:
    """Return the value. Raises Failed unless it may be a file name: no path, no leading point."""
    if not _NAME.fullmatch(value):
        raise Failed("a name is made of letters, digits, '.', '_' and '-', 64 at most")
    return value


def write(path: Path, content: str) -> None:
    """Replace the content of a file; even after a power cut it is the old or the new one, whole."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(path.name + ".part")
    with part.open("w", encoding="utf-8", newline="") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    part.replace(path)


def replace(path: Path, content: str, call: Call) -> Receipt:
    """Put new content in a file and keep the old; `restore` takes the receipt.

    The content from before the first attempt is kept: a retry may find what that attempt wrote.
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
    """Put back exactly what `replace` found, unless somebody has changed the file since."""
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
