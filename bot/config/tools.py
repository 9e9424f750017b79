"""Read the tools with their tiers, and check what a tier demands of a tool (design section 3)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from bot.config.identities import section_of
from bot.config.kinds import NOT_KNOWN, Capabilities, OptionsMisfit, capabilities
from bot.config.problems import Problems, nearest, quoted
from bot.config.structure import keys_of, read_as
from bot.config.tool_models import (
    ENTRY_OF_KIND,
    CommandEntry,
    EmailEntry,
    QuorumEntry,
    SmtpEntry,
    ToolEntry,
)
from bot.config.values import identifier
from lifecycle.paths import Parts
from lifecycle.policy import ActionType, ApprovalClass, Rate, Safety, ToolKind, ToolPolicy
from lifecycle.quorum import REVIEWERS
from lifecycle.tier import ALWAYS_BLOCKED, Tier

_SAFETY: Final = {
    ActionType.NAVIGATE: Safety.READ,
    ActionType.READ: Safety.READ,
    ActionType.DELETE: Safety.DESTRUCTIVE,
}
#: What the hard-coded BLOCK tools would do, for configs that do not have them.
_BLOCKED_ACTION: Final = {
    "financial-transfer": ActionType.TRANSACT,
    "legal-action": ActionType.EXECUTE,
    "credential-rotation": ActionType.EXECUTE,
}
_FIXED_QUORUM: Final = {ApprovalClass.NONE: 0, ApprovalClass.SINGLE: 1, ApprovalClass.DUAL: 2}


def read_tools(
    file: Mapping[str, Any], folder: Path | None, problems: Problems
) -> dict[str, ToolPolicy]:
    """Return the readable tools; the hard-coded BLOCK tools are always among them.

    Classes of tools are looked for in `folder`; none is loaded if that is None.
    """
    tools: dict[str, ToolPolicy] = {}
    for name, value in section_of(file, "tools", problems).items():
        tool = _read_tool(name, value, folder, problems)
        if tool is not None:
            tools[name] = tool
    for name in sorted(ALWAYS_BLOCKED - tools.keys()):
        tools[name] = ToolPolicy(name, Tier.BLOCK, _BLOCKED_ACTION[name])
    return tools


def _read_tool(name: str, value: Any, folder: Path | None, problems: Problems) -> ToolPolicy | None:
    parts = ("tools", name)
    try:
        identifier(name)
    except ValueError as error:
        problems.add(parts, str(error))
    model = _model_of(value, parts, problems)
    entry = read_as(model, _without_a_kind(value), parts, problems) if model else None
    if name in ALWAYS_BLOCKED and isinstance(value, dict) and value.get("tier") != Tier.BLOCK:
        problems.add(
            (*parts, "tier"), f"{name} is always BLOCK; no config may open it. Write tier: BLOCK"
        )
    if entry is None:
        return None
    can = _capabilities(entry, folder, parts, problems)
    _check_tier(name, entry, can, problems)
    _check_kind(name, entry, problems)
    _check_details(name, entry, problems)
    return _policy(name, entry, can)


def _model_of(value: Any, parts: Parts, problems: Problems) -> type[ToolEntry] | None:
    if not isinstance(value, dict):
        return ToolEntry
    kind = value.get("kind")
    if kind is None:
        return ToolEntry
    if kind not in list(ToolKind):
        words = f"{quoted(kind)} is no kind of tool" + nearest(str(kind), list(ToolKind))
        problems.add((*parts, "kind"), words)
        known = _keys_of_all_kinds()
        for key in value.keys() - known:
            problems.add((*parts, key), "there is no such key" + nearest(key, known))
        return None
    return ENTRY_OF_KIND[ToolKind(kind)]


def _without_a_kind(value: Any) -> Any:
    """Return a tool that lacks its kind without what only a kind reads: else each of these keys is
    told as unknown, and the kind never."""
    if not isinstance(value, dict) or value.get("kind") or value.get("tier") == Tier.BLOCK:
        return value
    of_a_kind = _keys_of_all_kinds().difference(keys_of(ToolEntry))
    return {key: item for key, item in value.items() if key not in of_a_kind}


def _keys_of_all_kinds() -> set[str]:
    return {key for model in ENTRY_OF_KIND.values() for key in keys_of(model)}


def _capabilities(
    entry: ToolEntry, folder: Path | None, parts: Parts, problems: Problems
) -> Capabilities:
    try:
        return capabilities(entry, folder)
    except ValueError as error:
        key = "options" if isinstance(error, OptionsMisfit) else "class"
        problems.add((*parts, key), str(error))
        return NOT_KNOWN


def _check_tier(name: str, entry: ToolEntry, can: Capabilities, problems: Problems) -> None:
    parts = ("tools", name)
    if entry.kind is None and entry.tier is not Tier.BLOCK:
        kinds = ", ".join(ToolKind)
        problems.add(parts, f"{name} needs a kind ({kinds}); only a BLOCK tool has none")
    elif entry.tier is Tier.PROPOSE and not can.reversible:
        problems.add(
            (*parts, "tier"),
            f"{name} is PROPOSE but cannot roll back{_remedy(entry)}, or make it CONFIRM",
        )
    elif entry.window_s is not None and not can.reversible and entry.tier is not Tier.BLOCK:
        problems.add(
            (*parts, "window_s"),
            f"{name} has a rollback window but cannot roll back{_remedy(entry)}, or leave window_s "
            "out",
        )


def _threshold_words(quorum: QuorumEntry) -> str:
    if quorum.required is None:
        return "class threshold needs required: N, the number of people"
    return "required belongs to class threshold alone"


def _remedy(entry: ToolEntry) -> str:
    match entry.kind:
        case ToolKind.AGENT:
            return " (kind agent never can): choose another kind"
        case ToolKind.COMMAND:
            return ": give it a roll_back command"
        case ToolKind.WEBHOOK:
            return ": set roll_back: true where its receiver can"
        case ToolKind.PYTHON:
            return ": write reversible = True in its class, and a roll_back(call)"
        case _:
            return ": give it a way back"


def _check_kind(name: str, entry: ToolEntry, problems: Problems) -> None:
    parts = ("tools", name)
    mails = entry.kind is ToolKind.EMAIL and entry.tier is not Tier.BLOCK
    if mails and entry.action_type is not ActionType.COMMUNICATE:
        words = f"{name} mails; a tool of kind email is communicate: write action_type: communicate"
        problems.add((*parts, "action_type"), words)
    if isinstance(entry, CommandEntry) and entry.commit and not entry.roll_back:
        problems.add(
            (*parts, "commit"), f"{name} stages (commit) but cannot discard: add roll_back"
        )
    if isinstance(entry, EmailEntry) and entry.smtp:
        _check_smtp(entry.smtp, (*parts, "smtp"), problems)


def _check_smtp(smtp: SmtpEntry, parts: Parts, problems: Problems) -> None:
    if smtp.tls and smtp.start_tls:
        words = "tls speaks TLS from the first byte, start_tls asks for it later: keep one of them"
        problems.add((*parts, "start_tls"), words)
    if (smtp.username_env is None) != (smtp.password_env is None):
        problems.add(parts, "to log in takes username_env and password_env: write both, or neither")


def _check_details(name: str, entry: ToolEntry, problems: Problems) -> None:
    parts = ("tools", name)
    quorum = entry.quorum
    if quorum and (quorum.class_ is ApprovalClass.THRESHOLD) != (quorum.required is not None):
        problems.add((*parts, "quorum"), f"the quorum of {name}: {_threshold_words(quorum)}")
    if entry.match and entry.match.action_type not in (None, entry.action_type):
        problems.add(
            (*parts, "match", "action_type"),
            f"this is not the action_type of {name}, so never fits",
        )
    if entry.parameters:
        _check_schema(entry.parameters, (*parts, "parameters"), problems)


def _check_schema(schema: dict[str, Any], parts: Parts, problems: Problems) -> None:
    from lifecycle.first_gate.parameter_shapes import (
        schema_problems,  # slow to import, rarely needed
    )

    for where, words in schema_problems(schema):
        problems.add((*parts, *where), words)


def _policy(name: str, entry: ToolEntry, can: Capabilities) -> ToolPolicy:
    reads = entry.action_type is ActionType.READ
    quorum = entry.quorum.class_ if entry.quorum else ApprovalClass.NONE
    required = entry.quorum.required if entry.quorum else None
    return ToolPolicy(
        name=name,
        tier=entry.tier,
        action_type=entry.action_type,
        kind=entry.kind,
        match=entry.match.model_dump(mode="json", exclude_none=True) if entry.match else {},
        roles=frozenset(entry.roles) if entry.roles is not None else None,
        reviewers=entry.reviewers or REVIEWERS,
        window_s=entry.window_s,
        reversible=can.reversible,
        deferred=can.deferred,
        idempotent=reads if entry.idempotent is None else entry.idempotent,
        timeout_s=entry.timeout_s,
        effects=tuple(entry.effects),
        safety=entry.safety or _SAFETY.get(entry.action_type, Safety.WRITE),
        sensitivity=entry.sensitivity,
        quorum_class=quorum,
        quorum_required=_FIXED_QUORUM.get(quorum, required or 1),
        rate=Rate(entry.rate.count, entry.rate.per_s) if entry.rate else None,
        parameters=entry.parameters,
        constraints=tuple(entry.constraints),
        settings=entry.settings(),
    )
