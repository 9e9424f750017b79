"""Define the keys of config.yaml, except those of tools and rules, as typed models (section 8)."""

from __future__ import annotations

from typing import Annotated, Any, Final

from pydantic import BaseModel, ConfigDict, Field, field_validator

from bot.config.values import (
    Count,
    DiscordId,
    EnvName,
    GatewayUrl,
    Host,
    HttpUrl,
    Identifier,
    Label,
    Names,
    Port,
    Seconds,
    SlackChannel,
    SlackTeam,
    SlackUser,
    SlackUsergroup,
    Switch,
    UrlPath,
)
from lifecycle.policy import Limits
from lifecycle.tier import Tier

_DEFAULT = Limits()

#: A key without a value was to be filled in by somebody, or by a template.
NOTHING_WRITTEN: Final = "nothing is written here; give it a value, or take the key out"


class Entry(BaseModel):
    """Anything in the file: no unknown key, no value of another type, no empty value."""

    model_config = ConfigDict(
        strict=True, extra="forbid", frozen=True, populate_by_name=False, hide_input_in_errors=True
    )

    @field_validator("*", mode="before")
    @classmethod
    def _written(cls, value: Any) -> Any:
        """Raise ValueError for null: nobody decided on the default of a key that stands in the
        file.

        An empty `quorum` would mean one person, an empty `owner` would let the owner approve.
        """
        if value is None:
            raise ValueError(NOTHING_WRITTEN)
        return value


class SlackAccount(Entry):
    """An account in one Slack workspace."""

    team: SlackTeam
    user: SlackUser

    @property
    def account(self) -> str:
        """`team/user`, as the law knows it."""
        return f"{self.team}/{self.user}"


class Accounts(Entry):
    """Who somebody is on the surfaces."""

    discord: DiscordId | None = None
    slack: SlackAccount | None = None
    terminal: bool = False

    def by_surface(self) -> dict[str, str]:
        """Return the account ids by surface."""
        found = {"discord": self.discord, "slack": self.slack.account if self.slack else None}
        return {surface: account for surface, account in found.items() if account is not None}


class Attributes(Entry):
    """What authority asks for besides roles (seed 004)."""

    tenant: Label | None = None


class PersonEntry(Accounts):
    """One person under `people`."""

    groups: Names = []
    roles: Names = []
    attributes: Attributes = Attributes()
    open_limit: Count = 10


class AgentEntry(Accounts):
    """One agent under `agents`."""

    token_env: EnvName | None = None
    callback_url: HttpUrl | None = None
    callback_secret_env: EnvName | None = None
    roles: Names = []
    attributes: Attributes = Attributes()
    owner: Identifier | None = None
    open_limit: Count = 10


class SourceEntry(Accounts):
    """One source of evidence under `sources`."""

    token_env: EnvName | None = None


class GroupEntry(Entry):
    """The role or user group that a card calls, once, when it needs people."""

    discord_role: DiscordId | None = None
    slack_usergroup: SlackUsergroup | None = None


class AutoApprovalEntry(Entry):
    """`by` names the orchestrator; `tiers` opens in its name without people."""

    by: Identifier
    tiers: list[Annotated[Tier, Field(strict=False)]] = []


class RateEntry(Entry):
    """Calls a minute, for an agent and a tool, by safety class."""

    read: Count = 60
    write: Count = 10
    destructive: Count = 2


class LimitsEntry(Entry):
    """Bounds on time and number; times in seconds."""

    proposal_ttl_s: Seconds = _DEFAULT.proposal_ttl_s
    refusal_binds_s: Annotated[int, Field(ge=0, le=10**9)] = _DEFAULT.refusal_binds_s
    clock_skew_s: Annotated[int, Field(ge=0, le=10**9)] = _DEFAULT.clock_skew_s
    longest_window_s: Seconds = _DEFAULT.longest_window_s
    rate: RateEntry = RateEntry()


class DiscordEntry(Entry):
    """The Discord surface; without the token in the environment it is off."""

    token_env: EnvName
    guild: DiscordId
    channel: DiscordId
    api_base: HttpUrl = "https://discord.com/api/v10"
    gateway: GatewayUrl = "wss://gateway.discord.gg/"


class SlackHttpEntry(Entry):
    """The address at which signed events are received."""

    host: Host = "127.0.0.1"
    port: Port = 3000
    path: UrlPath = "/slack/events"


class SlackEntry(Entry):
    """The Slack surface: Socket Mode with an app token, else signed HTTP events."""

    bot_token_env: EnvName
    app_token_env: EnvName | None = None
    signing_secret_env: EnvName | None = None
    channel: SlackChannel
    api_base: HttpUrl = "https://slack.com/api/"
    http: SlackHttpEntry = SlackHttpEntry()


class TerminalEntry(Entry):
    """`auto`: on when no chat token is present and a terminal or a pipe is attached."""

    enabled: Switch = "auto"


class ChatEntry(Entry):
    """The surfaces on which people sign off."""

    discord: DiscordEntry | None = None
    slack: SlackEntry | None = None
    terminal: TerminalEntry = TerminalEntry()


class HttpEntry(Entry):
    """The HTTP door for agents and sources."""

    enabled: bool = False
    host: Host = "127.0.0.1"
    port: Port = 8080
    public_url: HttpUrl = "http://127.0.0.1:8080"


class IntakeEntry(Entry):
    """The doors besides the surfaces."""

    http: HttpEntry = HttpEntry()
