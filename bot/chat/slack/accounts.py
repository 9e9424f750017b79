"""Finds out whose event it is, and who is a guest, a bot, a stranger or gone from Slack."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from bot.chat.hearing.senders import accounts_of, sender_of, stranger
from bot.chat.slack.calls import SlackRefused, SlackWeb
from bot.chat.surface import SurfaceFailed
from bot.chat.turns import Rank, Turn
from lifecycle.answers import Sender
from lifecycle.policy import Policy
from lifecycle.proposal import ActorKind

SURFACE: Final = "slack"
#: If Slack is silent about so many people, no time is left to ask about others.
_MOST_SILENT: Final = 4
_UNKNOWN: Final = frozenset({"user_not_found", "users_not_found", "user_not_visible"})


@dataclass(frozen=True, slots=True)
class Profile:
    """What Slack says of an account; `teams` are its workspaces and its grid's organisation."""

    teams: frozenset[str]
    bot: bool
    outsider: bool

    @classmethod
    def of(cls, user: Mapping[str, Any]) -> Profile:
        """Read a user object as users.info returns it."""
        grid = user.get("enterprise_user") or {}
        named = {user.get("team_id"), grid.get("enterprise_id"), *(grid.get("teams") or ())}
        flags = ("deleted", "is_restricted", "is_ultra_restricted", "is_stranger")
        return cls(
            teams=frozenset(str(each) for each in named if each),
            bot=bool(user.get("is_bot")),
            outsider=any(user.get(flag) for flag in flags),
        )


class Accounts:
    """Asks Slack about accounts. Nothing is remembered, for people may leave at any time."""

    def __init__(self, web: SlackWeb) -> None:
        self._web = web

    async def profile(self, user: str) -> Profile | None:
        """Return what Slack says of a user, None if there is no such user; raises SurfaceFailed."""
        try:
            answer = await self._web.call("users.info", user=user)
        except SlackRefused as refused:
            if refused.error in _UNKNOWN:
                return None
            raise
        said = answer.get("user")
        if not isinstance(said, Mapping) or said.get("id") != user:
            raise SurfaceFailed("Slack does not say whose account it is")
        return Profile.of(said)

    async def sender(
        self,
        policy: Policy,
        user: str,
        team: str,
        *,
        event_id: str | None = None,
        place: str | None = None,
    ) -> Sender:
        """Return who stands behind an event's user.

        That is a stranger if the workspace is not the one in the config, or if a person's account
        is a guest's, a bot's, or gone. Raises SurfaceFailed if Slack cannot be asked.
        """
        account = f"{team}/{user}"
        found = sender_of(policy, SURFACE, account, event_id=event_id, place=place)
        if found.kind is None:
            return await self._in_grid(policy, found, user)
        profile = await self.profile(user)
        if profile is None or not self._fits(profile, found, team):
            return stranger(SURFACE, account, event_id=event_id, place=place)
        return found

    def named(
        self,
        policy: Policy,
        user: str,
        team: str,
        *,
        event_id: str | None = None,
        place: str | None = None,
    ) -> Sender:
        """Return whose account it is, or was when the event was heard, by the config alone. A stop
        counts even if Slack does not say what has become of the account (ADR 0011)."""
        theirs = (each for each in _accounts(policy) if each.partition("/")[2] == user)
        of = partial(sender_of, policy, SURFACE, event_id=event_id, place=place)
        found = [of(each) for each in (f"{team}/{user}", *theirs)]
        return next((each for each in found if each.kind is not None), found[0])

    async def user_of_bot(self, bot_id: str) -> str | None:
        """Return a bot's user id, for messages that name the bot alone; None if refused."""
        try:
            answer = await self._web.call("bots.info", bot=bot_id)
        except SlackRefused:
            return None
        return (answer.get("bot") or {}).get("user_id")

    async def membership(
        self, policy: Policy, people: Iterable[str], within_s: float
    ) -> dict[str, bool | None]:
        """Return for each of `people` with an account here whether they are still full members;
        None for whomever Slack does not say that of within so many seconds."""
        accounts = accounts_of(policy, SURFACE, frozenset(people))
        found: dict[str, bool | None] = {}
        now_s = asyncio.get_running_loop().time
        until_s = now_s() + within_s
        for name, account in accounts.items():
            # One after the other, each for a part of what is left: if Slack is silent about one of
            # them, it may still say of the others that they have left.
            left_s = until_s - now_s()
            part_s = max(left_s / (len(accounts) - len(found)), within_s / _MOST_SILENT)
            found[name] = None
            with suppress(TimeoutError):
                async with asyncio.timeout(min(left_s, part_s)):
                    found[name] = await self._member(account)
        return found

    async def _member(self, account: str) -> bool | None:
        team, _, user = account.partition("/")
        try:
            profile = await self.profile(user)
        except SurfaceFailed:
            return None
        if profile is None or profile.outsider or profile.bot:
            return False
        return not profile.teams or team in profile.teams

    async def _in_grid(self, policy: Policy, found: Sender, user: str) -> Sender:
        """Find an account in its grid: events may name a workspace, the config the whole."""
        if not is_named(policy, user):
            return found
        profile = await self.profile(user)
        team = found.account.partition("/")[0]
        if profile is None or team not in profile.teams:
            return found
        for other in sorted(profile.teams - {team}):
            account = f"{other}/{user}"
            known = sender_of(policy, SURFACE, account, event_id=found.event_id, place=found.place)
            if known.kind is not None and self._fits(profile, known, other):
                return known
        return found

    def _fits(self, profile: Profile, found: Sender, team: str) -> bool:
        if profile.outsider or (profile.teams and team not in profile.teams):
            return False
        return not (profile.bot and found.kind is ActorKind.PERSON)


def user_of(payload: Mapping[str, Any]) -> str:
    """Return the account that did what an inbox keeps, empty if that does not tell."""
    body, event = payload.get("body") or {}, payload.get("event") or {}
    named = body.get("user_id") or (body.get("user") or {}).get("id") or event.get("user")
    return str(named or "")


def turn_of(policy: Policy, user: str) -> Turn:
    """Return the line in which an account is answered; Slack has not been asked yet who it is."""
    people = (each.accounts.get(SURFACE, "") for each in policy.people.values())
    known = any(account.partition("/")[2] == user for account in people if account)
    return Turn(Rank.FIRST if known else Rank.AGENTS, user)


def is_named(policy: Policy, user: str) -> bool:
    """Say whether the config names this user, in whichever workspace; else it is a stranger."""
    return any(each.partition("/")[2] == user for each in _accounts(policy))


def _accounts(policy: Policy) -> Iterator[str]:
    for known in (policy.people, policy.agents, policy.sources):
        for entry in known.values():
            if SURFACE in entry.accounts:
                yield entry.accounts[SURFACE]
