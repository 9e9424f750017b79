"""Define the keys of a tool by its kind; a kind refuses keys that it does not read (section 7)."""

from __future__ import annotations

from typing import Annotated, Any, Final

from pydantic import Field

from bot.config.models import Entry
from bot.config.values import (
    Argv,
    ClassPath,
    Count,
    EnvName,
    EnvNames,
    Host,
    HttpUrl,
    Identifier,
    Label,
    MailAddress,
    Names,
    Port,
    SecondsOfADay,
)
from lifecycle.policy import ActionType, ApprovalClass, Safety, Sensitivity, ToolKind
from lifecycle.tier import Tier


class MatchEntry(Entry):
    """What a proposal's target must be for this tool."""

    action_type: Annotated[ActionType | None, Field(strict=False)] = None
    resource_type: Label | None = None
    domain: Label | None = None


class QuorumEntry(Entry):
    """How many people must approve; `required` belongs to the class threshold alone."""

    class_: Annotated[ApprovalClass, Field(strict=False, alias="class")]
    required: Count | None = None


class RateEntry(Entry):
    """At most `count` calls within `per_s` seconds, a day at most, for an agent and this tool."""

    count: Count
    per_s: SecondsOfADay


class ToolEntry(Entry):
    """The keys that every tool has."""

    tier: Annotated[Tier, Field(strict=False)]
    action_type: Annotated[ActionType, Field(strict=False)]
    kind: Annotated[ToolKind | None, Field(strict=False)] = None
    match: MatchEntry | None = None
    roles: Names | None = None
    reviewers: Identifier | None = None
    window_s: Annotated[int | None, Field(ge=1, le=604_800)] = None
    idempotent: bool | None = None
    timeout_s: Annotated[int, Field(ge=1, le=3_600)] = 30
    effects: Names = Field(default_factory=list)
    safety: Annotated[Safety | None, Field(strict=False)] = None
    sensitivity: Annotated[Sensitivity, Field(strict=False)] = Sensitivity.NONE
    quorum: QuorumEntry | None = None
    rate: RateEntry | None = None
    parameters: dict[str, Any] | None = None
    constraints: Names = Field(default_factory=list)

    def settings(self) -> dict[str, Any]:
        """Return the keys that only the tool's kind reads, as written, without absent ones."""
        common = set(ToolEntry.model_fields)
        return self.model_dump(mode="json", by_alias=True, exclude=common, exclude_none=True)


class SmtpEntry(Entry):
    """The server that takes the mail."""

    host: Host
    port: Port = 25
    from_: Annotated[MailAddress, Field(alias="from")]
    username_env: EnvName | None = None
    password_env: EnvName | None = None
    tls: bool | None = None
    start_tls: bool | None = None


class EmailEntry(ToolEntry):
    """A mail: a draft during the window, sent at commit."""

    smtp: SmtpEntry | None = None
    from_: Annotated[MailAddress | None, Field(alias="from")] = None


class WebhookEntry(ToolEntry):
    """A signed POST."""

    url: HttpUrl
    secret_env: EnvName | None = None
    roll_back: bool = False


class CommandEntry(ToolEntry):
    """A program that is started without a shell."""

    execute: Argv
    roll_back: Argv | None = None
    commit: Argv | None = None
    env: EnvNames = Field(default_factory=list)


class PythonEntry(ToolEntry):
    """A class, named `module:Class`."""

    class_: Annotated[ClassPath, Field(alias="class")]
    options: dict[str, Any] = Field(default_factory=dict)
    env: EnvNames = Field(default_factory=list)


class AgentKindEntry(ToolEntry):
    """The agent itself acts, with a permit."""


#: The keys of each kind. A BLOCK tool may have no kind, since nothing ever calls it.
ENTRY_OF_KIND: Final[dict[ToolKind | None, type[ToolEntry]]] = {
    ToolKind.EMAIL: EmailEntry,
    ToolKind.WEBHOOK: WebhookEntry,
    ToolKind.COMMAND: CommandEntry,
    ToolKind.PYTHON: PythonEntry,
    ToolKind.AGENT: AgentKindEntry,
    None: ToolEntry,
}
