"""Settings under which a rule would hold less than they seem to say stop the start."""

from __future__ import annotations

from typing import Any

import pytest

from sentinel_rules.loading import RuleLoadError
from tests.checking import sentinel_with

HOURS = {"zone": "Europe/Luxembourg", "days": ["mon"], "from": "08:00", "to": "18:00"}
FREEZE = {"from": "2026-12-24T00:00:00Z", "until": "2026-12-27T00:00:00Z"}


def hours(**changes: str) -> dict[str, Any]:
    return {"hours": {"send-email": HOURS | changes}}


def freezes(**changes: Any) -> dict[str, Any]:
    return {"freezes": [FREEZE | changes]}


@pytest.mark.parametrize(
    ("rule", "good", "bad", "words"),
    [
        ("change_window_open", hours(to="24:00"), hours(to="25:00"), "no time of day"),
        ("change_window_open", hours(to="18:59"), hours(to="18:60"), "no time of day"),
        ("change_window_open", hours(zone="UTC"), hours(zone="Europe/Nowhere"), "no IANA zone"),
        ("change_window_open", hours(zone="Etc/UTC"), hours(zone="../etc/UTC"), "no IANA zone"),
        ("change_window_open", hours(), hours(zone="Europe"), "no IANA zone"),
        (
            "change_window_open",
            freezes(until="2026-12-24T00:00:01Z"),
            freezes(until="2026-12-24T00:00:00Z"),
            "ends after it begins",
        ),
        ("change_window_open", freezes(), freezes(until="2026-12-27"), "time and offset, like"),
        ("change_window_open", freezes(), freezes(until="2026-12-27T00:00"), "offset, like 2026"),
        ("change_window_open", freezes(), freezes(until="soon"), "offset, like 2026"),
        (
            "change_window_open",
            freezes(tools=["send-email"]),
            freezes(tools=None),
            "nothing is written here",
        ),
        (
            "deploy_target_allowed",
            {"targets": {"staging-deploy": ["shop.example"]}},
            {"targets": {"staging-deploy": [" shop.example"]}},
            "without blanks",
        ),
        (
            "amount_within_limit",
            {"per_action": {"USD": "1.00"}, "per_agent_day": {"USD": "1.00"}},
            {"per_action": {"USD": "1.0"}, "per_agent_day": {"USD": "1.00"}},
            "no amount of USD",
        ),
        (
            "amount_within_limit",
            {"per_action": {"JPY": 100}, "per_agent_day": {"JPY": "100"}},
            {"per_action": {"JPY": 100.0}, "per_agent_day": {"JPY": "100"}},
            "in quotes",
        ),
        (
            "amount_within_limit",
            {"per_action": {"USD": "1.00"}, "per_agent_day": {"USD": "1.00"}},
            {"per_action": {"usd": "1.00"}, "per_agent_day": {"usd": "1.00"}},
            "is no currency",
        ),
    ],
)
def test_a_setting_that_says_less_than_it_seems_to_is_refused_and_its_neighbour_is_not(
    rule: str, good: dict[str, Any], bad: dict[str, Any], words: str
) -> None:
    sentinel_with(rule, **good)

    with pytest.raises(RuleLoadError, match=words):
        sentinel_with(rule, **bad)
