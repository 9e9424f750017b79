"""What the pages tell an administrator to grant is what the bot asks for."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from bot.chat.discord.settings import needed_permissions
from bot.chat.slack import checks

ROOT = Path(__file__).resolve().parents[2]
MANIFEST = yaml.safe_load((ROOT / "docs" / "slack-manifest.yaml").read_text(encoding="utf-8"))


def first_name(permission: str) -> str:
    """discord.py kept the name that Discord first had for one of them."""
    return permission.replace("view_channel", "read_messages")


@pytest.mark.parametrize("page", ["README.md", "docs/discord.md"])
def test_the_invitation_asks_for_what_the_bot_needs(page: str) -> None:
    numbers = set(re.findall(r"\b\d{16}\b", (ROOT / page).read_text(encoding="utf-8")))

    assert numbers == {str(needed_permissions().value)}


def test_every_permission_of_the_invitation_is_told_with_its_use() -> None:
    text = (ROOT / "docs" / "discord.md").read_text(encoding="utf-8")
    table = re.search(r"^\| permission \|.*?\n\n", text, re.DOTALL | re.MULTILINE)
    assert table is not None
    rows = [line.split("|")[1] for line in table.group(0).splitlines()[2:] if line]
    told = {name.strip().lower().replace(" ", "_") for row in rows for name in row.split(",")}

    asked = {name for name, wanted in needed_permissions() if wanted}
    assert {first_name(name) for name in told} == asked


def test_the_manifest_asks_for_every_scope_that_the_start_looks_for() -> None:
    needed = {scope for scopes in checks._NEEDED for scope in scopes}
    wished = {scope for scopes, _ in checks._WISHED for scope in scopes}

    assert (needed | wished) - set(MANIFEST["oauth_config"]["scopes"]["bot"]) == set()
