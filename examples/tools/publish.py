"""Publish a page: data/published/<slug>.md."""

from __future__ import annotations

from kit import DATA, Call, Receipt, once, plain_name, replace, restore, serve, text


@once
def execute(call: Call) -> Receipt:
    """Write the page and keep the one before."""
    page = DATA / "published" / f"{plain_name(text(call, 'slug'))}.md"
    content = f"# {text(call, 'title')}\n\n{text(call, 'body')}\n"
    return replace(page, content, call) | {"affected_records": 1, "effects": ["publish"]}


def roll_back(call: Call) -> Receipt:
    """Take the page back: the one before, or none."""
    return restore(call["receipt"])


serve({"execute": execute, "roll_back": roll_back})
