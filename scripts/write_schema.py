"""Write schema/proposal.schema.json anew from the model; the house tests say when it is due."""

from __future__ import annotations

from pathlib import Path

from lifecycle.schema import schema_text

FILE = Path(__file__).resolve().parents[1] / "schema" / "proposal.schema.json"

if __name__ == "__main__":
    FILE.parent.mkdir(exist_ok=True)
    FILE.write_text(schema_text(), encoding="utf-8")
    print(f"wrote {FILE}")
