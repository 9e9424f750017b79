"""Cases G on the level of the config: nobody configured means nobody."""

from __future__ import annotations

from pathlib import Path

import pytest

from bot.config import ConfigInvalid, load_config

BASE = Path(__file__).parents[1] / "bot" / "base.yaml"


@pytest.mark.parametrize(
    ("old", "new", "key"),
    [
        pytest.param(
            "reviewers: approvers", "reviewers: mailers", "tools.send-email.reviewers", id="missing"
        ),
        pytest.param(
            "groups: [approvers", "groups: [observers", "tools.send-email.reviewers", id="empty"
        ),
        pytest.param('discord: "1001"', 'discord: "<@1001>"', "people.ana.discord", id="a mention"),
        pytest.param(
            "user: UANA", 'user: "<@UANA>"', "people.ana.slack.user", id="a Slack mention"
        ),
        pytest.param('discord: "1001"', 'discord: "ana#1234"', "people.ana.discord", id="a name"),
        pytest.param('discord: "1001"', 'discord: "١٠٠١"', "people.ana.discord", id="other digits"),
        pytest.param('discord: "1001"', 'discord: "01001"', "people.ana.discord", id="a 0 before"),
    ],
)
def test_G05_without_reviewers_that_are_ids_the_bot_does_not_start(
    tmp_path: Path, old: str, new: str, key: str
) -> None:
    text = BASE.read_text(encoding="utf-8")
    assert old in text
    path = tmp_path / "config.yaml"
    path.write_text(text.replace(old, new), encoding="utf-8")

    with pytest.raises(ConfigInvalid) as refused:
        load_config(path)

    assert key in [problem.key for problem in refused.value.problems]


def test_G05_cal_who_has_no_group_reviews_nothing() -> None:
    policy = load_config(BASE).policy

    assert all("cal" not in policy.reviewers_of(tool) for tool in policy.tools.values())
