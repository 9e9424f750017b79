"""Tell which surfaces are on, from the config and from what this machine has (design section 8)."""

from __future__ import annotations

import base64
import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

from bot.config.doubts import doubts
from bot.config.load import Config
from bot.config.programs import methods_missing, programs_missing
from bot.config.shared import known_to_agents
from bot.keys import SHORTEST_SECRET
from lifecycle.policy import ToolKind

_STDIN: Final = 0
#: A shorter token, in characters, can be guessed.
_SHORTEST_TOKEN: Final = 16
#: The prefix of a secret of Standard Webhooks.
_PREFIX: Final = "whsec_"


@dataclass(frozen=True, slots=True)
class Choice:
    """The surfaces that are on; `notes` tell at the start what is on and where, or off and why."""

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
        """True if nobody can reach the bot: there is no surface and no HTTP."""
        return not self.names and not self.http


def choose(config: Config, environment: Mapping[str, str], *, attached: bool) -> Choice:
    """Return what is on; `attached`: a terminal, a pipe or a file is at standard input."""
    choice = _on(config, environment, attached=attached)
    notes = list(choice.notes)
    if choice.http and not choice.names:
        notes.append("HTTP is on alone: PROPOSE and CONFIRM cannot open without a surface.")
    if choice.http:
        notes.append(f"HTTP is on at {_place(config)}, with MCP and AAP.")
        notes += _speakers(config, environment)
    notes += _signers(config, environment)
    notes += _permits(config, environment)
    notes += known_to_agents(config, environment)
    notes += doubts(config.policy, environment)
    notes += programs_missing(config.policy.tools.values(), config.folder, environment)
    notes += methods_missing(config.policy.tools.values(), config.folder)
    if config.policy.solo_operator:
        notes.append("solo_operator is true: the owner of an agent may approve its proposals.")
    return replace(choice, notes=tuple(notes))


def names_on(config: Config, environment: Mapping[str, str], *, attached: bool) -> tuple[str, ...]:
    """Return the names of the surfaces that are on. Unlike `choose` it looks at nothing else: for
    its notes that one loads the classes of tools, which may take for ever."""
    return _on(config, environment, attached=attached).names


def _on(config: Config, environment: Mapping[str, str], *, attached: bool) -> Choice:
    """Return what is on, with the notes of the surfaces alone."""
    notes: list[str] = []
    discord = _discord(config, environment, notes)
    slack = _slack(config, environment, notes)
    wanted = config.chat.terminal.enabled
    terminal = wanted == "on" or (wanted == "auto" and attached and not (discord or slack))
    if terminal:
        notes.append("The terminal trusts whoever types at it.")
    return Choice(discord, slack, terminal, config.intake.http.enabled, tuple(notes))


def _place(config: Config) -> str:
    """Return host and port of the doors for agents, as they are written in an address."""
    entry = config.intake.http
    host = f"[{entry.host}]" if ":" in entry.host else entry.host
    return f"{host}:{entry.port}"


def _speakers(config: Config, environment: Mapping[str, str]) -> Iterator[str]:
    """Yield a sentence for each who cannot speak over HTTP, or whose token can be guessed."""
    policy = config.policy
    known = [(each.id, each.token_env) for each in policy.agents.values()]
    known += [(each.id, each.token_env) for each in policy.sources.values()]
    holders: dict[str, list[str]] = {}
    for name, token_env in known:
        token = environment.get(token_env, "").strip() if token_env else None
        if token == "":
            yield f"{name} cannot speak over HTTP: {token_env} is not set."
        elif token:
            holders.setdefault(token, []).append(name)
            if len(token) < _SHORTEST_TOKEN:
                yield f"{token_env} is short: a token has {_SHORTEST_TOKEN} characters at least."
            if not _can_be_sent(token):
                yield f"{name} cannot speak over HTTP: {token_env} is not one line of ASCII."
    for names in holders.values():
        if len(names) > 1:
            yield f"{' and '.join(names)} cannot speak over HTTP: they have the same token."


def _permits(config: Config, environment: Mapping[str, str]) -> Iterator[str]:
    """Yield a sentence if the start will refuse the secret of permits."""
    named = config.permit_secret_env
    secret = environment.get(named) if named else None
    if secret is not None and len(secret.strip()) < SHORTEST_SECRET:
        yield (
            f"No bot starts: {named} is set to fewer than {SHORTEST_SECRET} characters. Set more, "
            "or do not set it at all."
        )


def _signers(config: Config, environment: Mapping[str, str]) -> Iterator[str]:
    """Yield a sentence for each call of ours that fails, or that its receiver cannot verify."""
    agents, tools = config.policy.agents.values(), config.policy.tools.values()
    if config.intake.http.enabled:
        for agent in agents:
            if agent.callback_url and agent.callback_secret_env:
                secret_env = agent.callback_secret_env
                yield from _signing(f"{agent.id} is not called back", secret_env, environment)
    for tool in tools:
        named = tool.settings.get("secret_env")
        if tool.kind is ToolKind.WEBHOOK and named:
            plain = not environment.get(named, "").startswith(_PREFIX)
            yield from _signing(f"{tool.name} is not called", named, environment, plain=plain)


def _signing(
    said: str, secret_env: str, environment: Mapping[str, str], *, plain: bool = False
) -> Iterator[str]:
    """Yield what is wrong with a secret; a `plain` one is a text that is used as it is."""
    secret = environment.get(secret_env, "")
    text = secret.removeprefix(_PREFIX).rstrip("=")  # with its padding or without
    if not text.strip():
        yield f"{said}: {secret_env} {'holds nothing' if secret else 'is not set'}."
    elif not plain:
        try:
            base64.b64decode(text + "=" * (-len(text) % 4), validate=True)
        except ValueError:
            yield f"{said}, or cannot check who calls: {secret_env} is no base64."


def token_fault(name: str | None, environment: Mapping[str, str]) -> str | None:
    """Return why the value of a variable is no token; None if it may be one, or if there is none.

    A token that cannot be sent is refused by nobody: a surface would try for ever, and hear
    nothing.
    """
    if name is None or _can_be_sent(environment.get(name, "").strip()):
        return None
    return f"{name} is not one line of ASCII, so that it is no token: copy it anew."


def _can_be_sent(token: str) -> bool:
    return token.isascii() and token.isprintable()


def _note_faults(
    names: Iterable[str | None], environment: Mapping[str, str], notes: list[str]
) -> None:
    faults = (token_fault(name, environment) for name in names)
    notes += [f"No bot starts: {fault}" for fault in faults if fault]


def _discord(config: Config, environment: Mapping[str, str], notes: list[str]) -> bool:
    entry = config.chat.discord
    if entry is None:
        return False
    if environment.get(entry.token_env, "").strip():
        _note_faults([entry.token_env], environment, notes)
        return True
    notes.append(f"Discord is off: {entry.token_env} is not set.")
    return False


def _slack(config: Config, environment: Mapping[str, str], notes: list[str]) -> bool:
    entry = config.chat.slack
    if entry is None:
        return False
    ways = [name for name in (entry.app_token_env, entry.signing_secret_env) if name]
    if not environment.get(entry.bot_token_env, "").strip():
        notes.append(f"Slack is off: {entry.bot_token_env} is not set.")
        return False
    if not any(environment.get(name, "").strip() for name in ways):
        needed = " or ".join(ways) or "app_token_env or signing_secret_env in the config"
        notes.append(f"Slack is off: {needed} is not set.")
        return False
    _note_faults([entry.bot_token_env, entry.app_token_env], environment, notes)
    return True


def stdin_attached() -> bool:
    """Return True if standard input is a keyboard, pipe, socket or file; /dev/null is none."""
    try:
        mode = os.fstat(_STDIN).st_mode
    except OSError:
        return False
    if stat.S_ISCHR(mode):
        return os.isatty(_STDIN)
    return stat.S_ISFIFO(mode) or stat.S_ISREG(mode) or stat.S_ISSOCK(mode)
