"""Cases H: reactions and emoji, as far as the emoji itself decides."""

from __future__ import annotations

import pytest

from bot.chat.hearing.signals import Signal, of_character, of_slack_name
from bot.chat.slack.emoji import listed, users_under
from bot.chat.surface import SurfaceFailed


@pytest.mark.parametrize(
    ("emoji", "meaning"),
    [
        ("\u2705", Signal.APPROVE),
        ("\u2705\ufe0f", Signal.APPROVE),
        ("\u2714\ufe0f", None),
        ("\u2611", None),
        ("\U0001f44d", None),
        ("\u274c", Signal.STOP),
        ("\u274c\ufe0f", Signal.STOP),
        ("\u274e", None),
        ("\u2716", None),
        ("", None),
        ("\ufe0f", None),
        ("\u2705\u2705", None),
    ],
)
def test_H04_only_the_two_characters_decide(emoji: str, meaning: Signal | None) -> None:
    assert of_character(emoji) is meaning


def test_H04_an_emoji_that_somebody_drew_means_nothing_whatever_its_name() -> None:
    assert of_character("✅", custom_id=1234567890) is None
    assert of_character("✅", custom_id=0) is None


@pytest.mark.parametrize(
    ("name", "meaning"),
    [
        ("white_check_mark", Signal.APPROVE),
        ("x", Signal.STOP),
        ("x-ray", None),
        ("heavy_multiplication_x", None),
        ("negative_squared_cross_mark", None),
        ("fox_face", None),
        ("+1::skin-tone-3", None),
        ("heavy_check_mark", None),
        ("white_check_mark::skin-tone-3", Signal.APPROVE),
        ("x::skin-tone-6", Signal.STOP),
        ("x::skin-tone-9", None),
        ("x::skin-tone-3::skin-tone-3", None),
        ("X", None),
        ("", None),
    ],
)
def test_H06_slack_names_are_compared_whole_without_their_skin_tone(
    name: str, meaning: Signal | None
) -> None:
    assert of_slack_name(name) is meaning


@pytest.mark.parametrize("short", ["x", "x::skin-tone-2"])
def test_H06_a_list_of_slacks_that_is_short_of_its_count_in_any_skin_tone_is_not_whole(
    short: str,
) -> None:
    lists = {"x": ["UBEN"], "x::skin-tone-2": ["UANA"], "white_check_mark": ["UDEE"]}
    message = {
        "reactions": [
            {"name": name, "users": users, "count": len(users) + (name == short)}
            for name, users in lists.items()
        ]
    }
    found = listed(message)
    assert found[Signal.STOP] == ({"UBEN", "UANA"}, False)
    assert found[Signal.APPROVE] == ({"UDEE"}, True)
    with pytest.raises(SurfaceFailed, match="more people"):
        users_under(message)
