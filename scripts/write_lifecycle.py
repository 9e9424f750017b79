"""Draw the lifecycle from its table, in README.md and docs/lifecycle.md."""

from __future__ import annotations

import re
from pathlib import Path

from lifecycle.state import TRANSITIONS, State
from lifecycle.tier import PULLERS, TIER_POLICIES, Tier

ROOT = Path(__file__).resolve().parents[1]
PAGES = (ROOT / "README.md", ROOT / "docs" / "lifecycle.md")
LETTERS = "abcdef"


def diagram() -> str:
    """Return the six states and six moves as a mermaid drawing, a letter a move."""
    lines = ["```mermaid", "stateDiagram-v2", f"    [*] --> {State.PENDING}"]
    for letter, row in zip(LETTERS, TRANSITIONS, strict=True):
        lines.append(f"    {row.source} --> {row.target}: {letter} · {row.trigger}")
    lines += [f"    {state} --> [*]" for state in State if state.terminal]
    return "\n".join([*lines, "```"])


def pullers() -> str:
    """Return who may pull each move at each tier, as a table."""
    tiers = list(Tier)
    lines = [
        "| | move | " + " | ".join(tiers) + " |",
        "|---|---|" + "---|" * len(tiers),
    ]
    for letter, row in zip(LETTERS, TRANSITIONS, strict=True):
        cells = [
            ", ".join(sorted(PULLERS[tier].get((row.source, row.trigger), ()))) or "nobody"
            for tier in tiers
        ]
        lines.append(f"| {letter} | {row.source} → {row.target} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def tiers() -> str:
    """Return the table of tiers."""
    lines = ["| # | tier | people needed | window | card |", "|---|---|---|---|---|"]
    for number, (tier, policy) in enumerate(TIER_POLICIES.items(), 1):
        window = f"{policy.window_s} s" if policy.window_s else "none"
        card = policy.card.replace("_", " ")
        lines.append(f"| {number} | {tier} | {policy.quorum} | {window} | {card} |")
    return "\n".join(lines)


PARTS = {"diagram": diagram, "pullers": pullers, "tiers": tiers}


def filled(text: str) -> str:
    """Return `text` with every generated part between its marks made anew."""
    for name, part in PARTS.items():
        marks = rf"(<!-- {name}: generated -->\n).*?(\n<!-- end -->)"
        text = re.sub(marks, lambda m, p=part: m[1] + p() + m[2], text, flags=re.DOTALL)
    return text


if __name__ == "__main__":
    for page in PAGES:
        page.write_text(filled(page.read_text(encoding="utf-8")), encoding="utf-8")
        print(f"wrote {page.relative_to(ROOT)}")
