"""Search the library: every line of examples/library that holds all words of the query."""

from __future__ import annotations

from pathlib import Path

from kit import Call, Receipt, serve, text

LIBRARY = Path(__file__).resolve().parent.parent / "library"
MOST = 50


def execute(call: Call) -> Receipt:
    """Find lines, 50 at most."""
    words = text(call, "query").casefold().split()
    found = [
        {"document": document.stem, "line": number, "text": line.strip()}
        for document in sorted(LIBRARY.glob("*.md"))
        for number, line in enumerate(document.read_text(encoding="utf-8").splitlines(), start=1)
        if all(word in line.casefold() for word in words)
    ]
    return {"count": len(found), "matches": found[:MOST]}


serve({"execute": execute})
