"""What the kernel of seed 004 masks we mask too; where we mask more, the reason stands here."""

from __future__ import annotations

import json
import re
from typing import Any

from lifecycle.calls.firewall import TOO_DEEP, framed

MASK = re.compile(r"(?:[Bb]earer )?‹[a-zA-Z ]+, \d+ characters›")

#: Inputs where we differ on purpose, by what stands in the kernel's output.
ON_PURPOSE = {
    "4111 1111 1111 1111": "the kernel leaves the last four digits of a card in clear",
    "4111-1111-1111-1111": "the same with hyphens",
    "api_key=short": "a short key is a key",
}


def plain(value: Any) -> Any:
    """Write our masks the way the kernel writes its own."""
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [plain(item) for item in value]
    if value == TOO_DEEP:
        return "[REDACTED: nested data beyond depth limit]"
    return MASK.sub("[REDACTED]", value) if isinstance(value, str) else value


def test_what_the_kernel_masks_is_masked(vectors):
    cases = json.loads((vectors / "weaver_kernel" / "redaction.json").read_text())
    differing = {}
    for case in cases:
        if "allowed_fields" in case:
            continue  # a list of allowed fields is the kernel's alone
        ours = plain(framed(case["input"], "h").value)
        if ours != case["output"]:
            differing[case["input"]] = ours

    assert len(cases) == 39
    assert differing.keys() == ON_PURPOSE.keys()
    assert set(differing.values()) == {"[REDACTED]", "api_key=[REDACTED]"}


def test_a_frame_warns_where_the_kernel_warns(vectors):
    cases = json.loads((vectors / "weaver_kernel" / "redaction.json").read_text())

    for case in cases:
        if "warnings" in case:
            assert len(framed(case["input"], "h").warnings) == len(case["warnings"])
