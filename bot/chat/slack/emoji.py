"""Reads emoji as Slack tells of them: in an event, and in the lists that come with a message.

Twins: `discord/payloads.py` and `discord/standing.py`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from bot.chat.hearing.signals import Signal, of_slack_name
from bot.chat.surface import SurfaceFailed

_TS: Final = re.compile(r"([0-9]{1,12})\.([0-9]{3,9})")
TOO_FEW: Final = "Slack counts more people under a card than it names"


@dataclass(frozen=True, slots=True)
class Reacted:
    """A reaction_added or reaction_removed event whose emoji stands for a decision."""

    user: str
    channel: str
    message_ts: str
    name: str
    signal: Signal
    added: bool
    author: str


def reacted(event: Mapping[str, Any]) -> Reacted | None:
    """Read a reaction event; None if its emoji stands for no decision."""
    item, name = event.get("item") or {}, str(event.get("reaction", ""))
    signal = of_slack_name(name)
    if signal is None or item.get("type") != "message" or not event.get("user"):
        return None
    return Reacted(
        user=str(event["user"]),
        channel=str(item.get("channel", "")),
        message_ts=str(item.get("ts", "")),
        name=name,
        signal=signal,
        added=event.get("type") == "reaction_added",
        author=str(event.get("item_user", "")),
    )


def ms_of(event_ts: object) -> int | None:
    """Return one of Slack's timestamps in ms UTC; None for anything else."""
    found = _TS.fullmatch(str(event_ts))
    return int(found[1]) * 1000 + int(found[2][:3]) if found else None


class Listed(NamedTuple):
    """Who stands under a signal, in all skin tones together; `whole` if Slack named everybody."""

    users: frozenset[str] = frozenset()
    whole: bool = True


def listed(message: Mapping[str, Any]) -> dict[Signal, Listed]:
    """Return who stands under each signal of a message, as far as Slack names them."""
    found = dict.fromkeys(Signal, Listed())
    for each in message.get("reactions") or ():
        signal = of_slack_name(str(each.get("name", "")))
        if signal is None:
            continue
        users = frozenset(str(user) for user in each.get("users") or ())
        before, count = found[signal], each.get("count")
        # Without a count it is whole if it names anybody: Slack counts, what resembles it may not.
        whole = bool(users) if count is None else isinstance(count, int) and len(users) >= count
        found[signal] = Listed(before.users | users, before.whole and whole)
    return found


def users_under(message: Mapping[str, Any]) -> dict[Signal, frozenset[str]]:
    """Return who stands under each signal; raises SurfaceFailed if Slack names too few."""
    lists = listed(message)
    if not all(each.whole for each in lists.values()):
        raise SurfaceFailed(TOO_FEW)
    return {signal: each.users for signal, each in lists.items()}
