"""The digest of a policy: what changes it, and what does not."""

from __future__ import annotations

from pathlib import Path

import pytest

from bot.config import Config, load_config
from lifecycle.policy import ActionType


@pytest.fixture
def config(write_config) -> Config:
    return load_config(write_config())


SAME = {
    "keys in another order": (
        "limits:\n  proposal_ttl_s: 86400\n  rate: {read: 60, write: 10, destructive: 2}",
        "limits:\n  rate: {destructive: 2, read: 60, write: 10}\n  proposal_ttl_s: 86400",
    ),
    "another style": ("timeout_s: 10}", '"timeout_s": 1_0}'),
    "a default written out": ("    kind: email\n", "    kind: email\n    timeout_s: 30\n"),
    "groups in another order": ("[approvers, operators]", "[operators, approvers]"),
    "where the bot speaks": ('channel: "701"', 'channel: "702"'),
    "the name of a secret": ("SIGNOFF_PERMIT_SECRET", "ANOTHER_NAME"),
}


OTHER = {
    "a tool's limit": ("timeout_s: 10}", "timeout_s: 11}"),
    "a tool's tier": ("search: {tier: AUTO, action", "search: {tier: AUTO+, action"),
    "a tool's command": ('kind: command, execute: ["true"]', 'kind: command, execute: ["false"]'),
    "a rule's level": ("secrets_absent: {level: hard}", "secrets_absent: {level: soft}"),
    "a rule's settings": ("[shop.example]", "[shop.example, other.example]"),
    "a limit": ("proposal_ttl_s: 86400", "proposal_ttl_s: 86401"),
    "auto-approval": (
        "auto_approval: {by: nour, tiers: [PROPOSE]}",
        "auto_approval: {by: leila, tiers: [PROPOSE]}",
    ),
    "somebody's groups": (
        'cal: {discord: "1003", groups: []}',
        'cal: {discord: "1003", groups: [approvers]}',
    ),
    "somebody new": ('  olga: {discord: "1005"}', '  olga: {discord: "1005"}\n  dee: {}'),
}


@pytest.mark.parametrize("change", SAME.values(), ids=SAME.keys())
def test_the_digest_is_that_of_the_policy_not_of_the_file(
    config: Config, write_config, change: tuple[str, str]
) -> None:
    assert load_config(write_config(change)).policy.digest == config.policy.digest


@pytest.mark.parametrize("change", OTHER.values(), ids=OTHER.keys())
def test_every_decision_of_the_operator_changes_the_digest(
    config: Config, write_config, change: tuple[str, str]
) -> None:
    assert load_config(write_config(change)).policy.digest != config.policy.digest


def test_the_digest_names_its_form(config: Config) -> None:
    assert config.policy.digest.startswith("pol1_")
    assert len(config.policy.digest) == len("pol1_") + 64
    assert config.policy.tools["search"].action_type is ActionType.READ


def test_the_digest_does_not_depend_on_where_the_file_lies(write_config, tmp_path: Path) -> None:
    path = write_config(("roots: {}", "roots: {search: data/records}"))
    moved = tmp_path / "elsewhere" / "config.yaml"
    moved.parent.mkdir()
    moved.write_bytes(path.read_bytes())

    assert load_config(moved).policy.digest == load_config(path).policy.digest


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("solo_operator: false", "solo_operator: true"),
        ("    owner: olga\n", "    owner: ben\n"),
        ('nour: {discord: "912", roles: [reader, writer]}', 'nour: {discord: "912"}'),
    ],
)
def test_who_may_ask_and_who_owns_them_is_part_of_the_policy(write_config, old, new) -> None:
    """ADR 0015: such a change is announced and checks what is open again."""
    before = load_config(write_config()).policy.digest

    assert load_config(write_config((old, new))).policy.digest != before
