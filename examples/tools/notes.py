"""Small tools of every day: fetch, read, recall, draft-email, update-tracker, create-task."""

from __future__ import annotations

import json
from pathlib import Path

from kit import (
    DATA,
    Call,
    Failed,
    Receipt,
    fingerprint,
    once,
    plain_name,
    receipts,
    serve,
    text,
    write,
)

LIBRARY = Path(__file__).resolve().parent.parent / "library"
RECORDS = DATA / "records"
MOST = 20


def fetch(call: Call) -> Receipt:
    """Return a document of the library."""
    document = LIBRARY / f"{plain_name(text(call, 'document'))}.md"
    if not document.is_file():
        raise Failed("the library has no such document")
    return {"document": document.stem, "text": document.read_text(encoding="utf-8")}


def read(call: Call) -> Receipt:
    """Return one record of a data set."""
    file = _record(call)
    if not file.is_file():
        raise Failed("there is no such record")
    return {"record": json.loads(file.read_text(encoding="utf-8"))}


def recall(call: Call) -> Receipt:
    """Return what was done lately, optionally by one tool."""
    tool = call["parameters"].get("tool")
    done = [receipt for receipt in receipts() if tool in (None, receipt.get("tool"))]
    return {"count": len(done), "receipts": done[:MOST]}


@once
def draft_email(call: Call) -> Receipt:
    """Put a mail aside for a person to finish; nothing is sent."""
    draft = DATA / "notes" / f"{fingerprint(call)}.txt"
    head = f"To: {text(call, 'to')}\nSubject: {text(call, 'subject')}\n\n"
    write(draft, head + text(call, "body") + "\n")
    return {"path": str(draft), "affected_records": 1}


@once
def update_tracker(call: Call) -> Receipt:
    """Merge `updates` into a record; a new one begins empty."""
    updates = call["parameters"].get("updates")
    if not isinstance(updates, dict) or not updates:
        raise Failed("the parameter updates must be an object with at least one field")
    file = _record(call)
    record = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}
    write(file, json.dumps(record | updates, indent=2, sort_keys=True) + "\n")
    return {"path": str(file), "fields": sorted(updates), "affected_records": 1}


@once
def create_task(call: Call) -> Receipt:
    """Write a task down."""
    task = DATA / "tasks" / f"{fingerprint(call)}.json"
    content = {"title": text(call, "title"), "details": call["parameters"].get("details", "")}
    write(task, json.dumps(content, indent=2) + "\n")
    return {"path": str(task), "affected_records": 1}


def _record(call: Call) -> Path:
    return RECORDS / plain_name(text(call, "dataset")) / f"{plain_name(text(call, 'record'))}.json"


serve(
    {
        "fetch": fetch,
        "read": read,
        "recall": recall,
        "draft-email": draft_email,
        "update-tracker": update_tracker,
        "create-task": create_task,
    }
)
