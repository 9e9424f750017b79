"""A tool's hours are those of the clock on the wall of their zone, whatever that clock does."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from sentinel_rules.change_window_open import ChangeWindowOpen, Hours
from sentinel_rules.loading.settings import read_options

EVERY_DAY = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"]


def hours(zone: str, begin: str, end: str, days: list[str] = EVERY_DAY) -> Hours:
    written: dict[str, Any] = {"zone": zone, "days": days, "from": begin, "to": end}
    options = read_options(ChangeWindowOpen, {"hours": {"a-tool": written}})
    found: Hours = options.hours["a-tool"]
    return found


def minutes_open(found: Hours, day: str) -> list[str]:
    """Return when, in UTC, they open and close within two days from midnight UTC of `day` on."""
    at = datetime.fromisoformat(day).replace(tzinfo=UTC)
    changes, before = [], False
    for _ in range(2 * 24 * 60):
        now = found.are_open(at)
        if now is not before:
            changes.append(f"{at:%d %H:%M}")
        at, before = at + timedelta(minutes=1), now
    return changes


@pytest.mark.parametrize(
    ("zone", "begin", "end", "day", "expected"),
    [
        # 02:00 to 03:00 is left out on the 29th.
        ("Europe/Luxembourg", "02:15", "02:45", "2026-03-28", ["28 01:15", "28 01:45"]),
        (
            "Europe/Luxembourg",
            "01:00",
            "04:00",
            "2026-03-28",
            ["28 00:00", "28 03:00", "29 00:00", "29 02:00", "29 23:00"],
        ),
        # 02:00 to 03:00 comes twice on the 25th.
        (
            "Europe/Luxembourg",
            "02:15",
            "02:45",
            "2026-10-25",
            ["25 00:15", "25 00:45", "25 01:15", "25 01:45", "26 01:15", "26 01:45"],
        ),
        # The clock is set by half an hour on the 5th.
        (
            "Australia/Lord_Howe",
            "00:00",
            "24:00",
            "2026-04-04",
            ["04 00:00"],
        ),
        (
            "Australia/Lord_Howe",
            "01:30",
            "02:00",
            "2026-04-04",
            ["04 14:30", "04 15:30", "05 15:00", "05 15:30"],
        ),
        (
            "Asia/Kathmandu",
            "09:00",
            "17:00",
            "2028-02-28",
            ["28 03:15", "28 11:15", "29 03:15", "29 11:15"],
        ),
    ],
)
def test_hours_follow_the_clock_on_the_wall(
    zone: str, begin: str, end: str, day: str, expected: list[str]
) -> None:
    assert minutes_open(hours(zone, begin, end), day) == expected


@pytest.mark.parametrize(
    ("zone", "days", "day", "expected"),
    [
        ("Pacific/Kiritimati", ["tue"], "2028-02-28", ["28 10:00", "29 10:00"]),  # a leap day
        ("Pacific/Pago_Pago", ["tue"], "2028-02-28", ["29 11:00"]),
        ("UTC", ["tue"], "2028-02-29", ["29 00:00", "01 00:00"]),
        ("UTC", ["mon"], "2100-02-28", ["01 00:00"]),  # and a year without one
        ("UTC", ["tue"], "2038-01-18", ["19 00:00"]),
    ],
)
def test_a_day_is_the_day_of_the_zone(
    zone: str, days: list[str], day: str, expected: list[str]
) -> None:
    assert minutes_open(hours(zone, "00:00", "24:00", days), day) == expected


def test_a_night_belongs_to_the_day_on_which_it_began_though_the_clock_is_set_in_it() -> None:
    saturday_night = hours("Europe/Luxembourg", "22:00", "06:00", ["sat"])

    assert minutes_open(saturday_night, "2026-03-28") == ["28 21:00", "29 04:00"]
    assert minutes_open(saturday_night, "2026-10-24") == ["24 20:00", "25 05:00"]
