"""Cases F on the level of the config: an empty policy is a fault, an empty list allows nothing."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from bot.config import ConfigInvalid, load_config
from lifecycle.codes import RULES
from lifecycle.tier import Tier

BASE = Path(__file__).parents[1] / "bot" / "base.yaml"


def spoiled(folder: Path, pattern: str, new: str) -> Path:
    """Write the working config with one piece exchanged."""
    text, count = re.subn(pattern, new, BASE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert count == 1
    path = folder / "config.yaml"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize("text", ["", "# no rules yet\n", "---\n", "sentinel:\n"])
def test_F04_an_empty_file_does_not_start(tmp_path: Path, text: str) -> None:
    path = tmp_path / "config.yaml"
    path.write_text(text)

    with pytest.raises(ConfigInvalid, match=re.escape(str(path))):
        load_config(path)


def test_F04_a_missing_file_does_not_start(tmp_path: Path) -> None:
    with pytest.raises(ConfigInvalid, match="there is no such file"):
        load_config(tmp_path / "config.yaml")


@pytest.mark.parametrize("rule", RULES)
def test_F04_eight_of_nine_rules_do_not_start(tmp_path: Path, rule: str) -> None:
    path = spoiled(tmp_path, rf"^  {rule}:.*\n(?:    .*\n)*", "")

    with pytest.raises(ConfigInvalid) as refused:
        load_config(path)

    assert f"the rule {rule} is missing" in str(refused.value)
    assert len(refused.value.problems) == 1


@pytest.mark.parametrize(
    ("pattern", "new", "rule", "key"),
    [
        (r"targets: \{.*\}", "targets: {}", "deploy_target_allowed", "targets"),
        (r"domains: \[.*\]", "domains: []", "recipients_allowed", "domains"),
    ],
)
def test_F07_an_empty_list_stays_empty(
    tmp_path: Path, pattern: str, new: str, rule: str, key: str
) -> None:
    policy = load_config(spoiled(tmp_path, pattern, new)).policy

    assert key in policy.rules[rule].settings
    assert not policy.rules[rule].settings[key]


def test_F07_no_agents_is_a_config_in_which_nobody_proposes(tmp_path: Path) -> None:
    text = BASE.read_text(encoding="utf-8")
    text = re.sub(r"^agents:\n(?:  .*\n)*", "agents: {}\n", text, flags=re.MULTILINE)
    text = re.sub(r"^auto_approval:.*\n", "", text, flags=re.MULTILINE)
    path = tmp_path / "config.yaml"
    path.write_text(text, encoding="utf-8")

    assert load_config(path).policy.agents == {}


@pytest.mark.parametrize("tier", ["AUTO", "AUTO+", "PROPOSE", "CONFIRM"])
@pytest.mark.parametrize("tool", ["financial-transfer", "legal-action", "credential-rotation"])
def test_F09_no_config_opens_what_is_always_blocked(tmp_path: Path, tool: str, tier: str) -> None:
    line = f"{tool}: {{tier: {tier}, action_type: transact, kind: email}}"
    path = spoiled(tmp_path, r"financial-transfer: \{.*\}", line)

    with pytest.raises(ConfigInvalid, match=f"tools.{tool}.tier: {tool} is always BLOCK"):
        load_config(path)


def test_F09_what_the_config_leaves_out_is_blocked_all_the_same(tmp_path: Path) -> None:
    path = spoiled(tmp_path, r"^  financial-transfer: \{.*\}\n", "")

    assert load_config(path).policy.tools["financial-transfer"].tier is Tier.BLOCK
