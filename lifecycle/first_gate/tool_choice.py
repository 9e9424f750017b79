"""Step 4 of reading finds the tool: the one named exactly, or the only one that fits (sections 3,
4)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from lifecycle.errors import Fault
from lifecycle.first_gate.kind import unknown_tool
from lifecycle.policy import Policy, ToolPolicy

_MATCHED: Final = ("resource_type", "domain")


def tool_meant(
    fields: Mapping[str, Any], policy: Policy, *, readable: bool
) -> tuple[ToolPolicy | None, list[Fault]]:
    """Return the tool that a proposal means, None if there is none, and the faults.

    `readable` says that action_type and target are well-formed. If not, nothing is inferred and
    nothing compared, and V-PROP-004 or 005 stands alone.
    """
    name = fields.get("tool")
    if name is None:
        return _inferred(fields, policy) if readable else (None, [])
    if not isinstance(name, str):
        return None, []
    tool = policy.tools.get(name)
    if tool is None:
        return None, [unknown_tool(name, policy, "tool")]
    return tool, list(mismatches(tool, fields)) if readable else []


def _inferred(fields: Mapping[str, Any], policy: Policy) -> tuple[ToolPolicy | None, list[Fault]]:
    fitting = [
        tool
        for tool in policy.tools.values()
        if tool.match and not any(True for _ in mismatches(tool, fields))
    ]
    if len(fitting) == 1:
        return fitting[0], []
    return None, [
        Fault(
            "unknown_tool",
            "tool",
            required="the exact name of a configured tool",
            actual="absent, and several tools fit" if fitting else "absent, and no tool fits",
            suggestion="Name the tool: action_type and target fit not exactly one.",
        )
    ]


def mismatches(tool: ToolPolicy, fields: Mapping[str, Any]) -> Iterator[Fault]:
    """Yield where action_type and target are not what a tool asks; they must be well-formed."""
    action = fields["action_type"]
    wanted = {tool.action_type.value, tool.match.get("action_type", tool.action_type.value)}
    if {action} != wanted:
        yield _mismatch(tool, "action_type", tool.action_type.value)
    for key in _MATCHED:
        if key in tool.match and fields["target"][key] != tool.match[key]:
            yield _mismatch(tool, f"target.{key}", tool.match[key])


def _mismatch(tool: ToolPolicy, path: str, required: str) -> Fault:
    return Fault(
        "tool_mismatch",
        path,
        required=required,
        actual="another value",
        suggestion=f"{tool.name} asks for {required} here: correct it or name another tool.",
    )
