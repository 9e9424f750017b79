"""Which surfaces are on: what is configured, and what this machine gives it (design section 8)."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from bot.config.load import Config

_STDIN: Final = 0


@dataclass(frozen=True, slots=True)
class Choice:
    """What is on; `notes` are sentences for the start-up about what is not, and why."""

    discord: bool
    slack: bool
    terminal: bool
    http: bool
    notes: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the surfaces that are on."""
        on = {"discord": self.discord, "slack": self.slack, "terminal": self.terminal}
        return tuple(name for name, is_on in on.items() if is_on)

    @property
    def nothing(self) -> bool:
        """True where nobody could reach the bot: no surface and no HTTP."""
        return not self.names and not self.http


def choose(config: Config, environment: Mapping[str, str], *, attached: bool) -> Choice:
    """Say what is on; `attached`: a terminal, a pipe or a file stands at standard input."""
    notes: list[str] = []
    discord = _discord(config, environment, notes)
    slack = _slack(config, environment, notes)
    wanted = config.chat.terminal.enabled
    terminal = wanted == "on" or (wanted == "auto" and attached and not (discord or slack))
    if terminal:
        notes.append("The terminal trusts whoever types at it.")
    http = config.intake.http.enabled
    if http and not (discord or slack or terminal):
        notes.append("HTTP is on alone: PROPOSE and CONFIRM cannot open without a surface.")
    if http:
        notes += _silent(config, environment)
    if config.policy.solo_operator:
        notes.append("solo_operator is true: the owner of an agent may approve its proposals.")
    return Choice(discord, slack, terminal, http, tuple(notes))


def _silent(config: Config, environment: Mapping[str, str]) -> Iterator[str]:
    """Say which agents and sources cannot speak over HTTP, their token not being set."""
    policy = config.policy
    known = [(each.id, each.token_env) for each in policy.agents.values()]
    known += [(each.id, each.token_env) for each in policy.sources.values()]
    for name, token_env in known:
        if token_env and not environment.get(token_env, "").strip():
            yield f"{name} cannot speak over HTTP: {token_env} is not set."


def _discord(config: Config, environment: Mapping[str, str], notes: list[str]) -> bool:
    entry = config.chat.discord
    if entry is None:
        return False
    if environment.get(entry.token_env):
        return True
    notes.append(f"Discord is off: {entry.token_env} is not set.")
    return False


def _slack(config: Config, environment: Mapping[str, str], notes: list[str]) -> bool:
    entry = config.chat.slack
    if entry is None:
        return False
    ways = [name for name in (entry.app_token_env, entry.signing_secret_env) if name]
    if not environment.get(entry.bot_token_env):
        notes.append(f"Slack is off: {entry.bot_token_env} is not set.")
        return False
    if not any(environment.get(name) for name in ways):
        needed = " or ".join(ways) or "app_token_env or signing_secret_env in the config"
        notes.append(f"Slack is off: {needed} is not set.")
        return False
    return True


def stdin_attached() -> bool:
    """Say whether standard input is a keyboard, a pipe, a socket or a file; /dev/null is none."""
    try:
        mode = os.fstat(_STDIN).st_mode
    except OSError:
        return False
    if stat.S_ISCHR(mode):
        return os.isatty(_STDIN)
    return stat.S_ISFIFO(mode) or stat.S_ISREG(mode) or stat.S_ISSOCK(mode)
