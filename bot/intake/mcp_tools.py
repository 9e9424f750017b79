"""Define what an agent can call over MCP; each tool is a call of the HTTP door."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

from mcp import types

from bot.client import Signoff, SignoffRefused
from bot.intake.http.queries import LONGEST_WAIT_S
from lifecycle.schema import proposal_schema

_Run = Callable[[Signoff, Mapping[str, Any]], Awaitable[Any]]

_LONGEST_WAIT_S: Final = 300
_USUAL_WAIT_S: Final = 60
_ID: Final = {"type": "string", "pattern": r"^(?!\.+$)[A-Za-z0-9._-]{1,64}$"}


def misfit(schema: Mapping[str, Any], arguments: Mapping[str, Any]) -> str | None:
    """Return what is wrong with names and plain types of arguments; a document judges itself."""
    known: Mapping[str, Any] = schema["properties"]
    strange = sorted(arguments.keys() - known.keys())
    missing = sorted(set(schema.get("required", ())) - arguments.keys())
    if strange or missing:
        return f"Needed: {', '.join(schema.get('required', ())) or 'nothing'}. Known: " + (
            f"{', '.join(known) or 'nothing'}."
        )
    for name, value in arguments.items():
        python = _TYPES[known[name]["type"]]
        if not isinstance(value, python) or isinstance(value, bool):
            return f"{name} must be of type {known[name]['type']}."
    return None


_TYPES: Final[Mapping[str, type]] = {"string": str, "object": dict, "integer": int}


async def _list_tools(signoff: Signoff, _given: Mapping[str, Any]) -> Any:
    return {"advisory": True, "tools": await signoff.tools()}


async def _propose(signoff: Signoff, given: Mapping[str, Any]) -> Any:
    return await signoff.propose(given["document"])


async def _proposal(signoff: Signoff, given: Mapping[str, Any]) -> Any:
    try:
        return await signoff.proposal(given["proposal_id"])
    except SignoffRefused as refused:
        return await _question(signoff, given, refused, 0)


async def _wait(signoff: Signoff, given: Mapping[str, Any]) -> Any:
    seconds = max(1, min(_LONGEST_WAIT_S, given.get("timeout_s", _USUAL_WAIT_S)))
    try:
        return await signoff.wait(given["proposal_id"], timeout_s=seconds)
    except TimeoutError:
        return await _proposal(signoff, given)  # its state says that it still waits
    except SignoffRefused as refused:
        return await _question(signoff, given, refused, seconds)


async def _question(
    signoff: Signoff, given: Mapping[str, Any], refused: SignoffRefused, wait_s: int
) -> Any:
    """Return the question with this id, if `refused` says that no proposal has it.

    `propose` may answer with the id of either. Raises SignoffRefused if it is no question.
    """
    if refused.reason != "unknown_proposal":
        raise refused
    left_s = wait_s
    while True:
        held_s = min(LONGEST_WAIT_S, left_s)
        try:
            found = await signoff.question(given["proposal_id"], wait_s=held_s)
        except SignoffRefused as error:
            raise refused if error.reason == refused.reason else error from None
        left_s -= held_s
        if found["answer"] is not None or left_s <= 0:
            return found


async def _withdraw(signoff: Signoff, given: Mapping[str, Any]) -> Any:
    return await signoff.withdraw(given["proposal_id"])


async def _redeem(signoff: Signoff, given: Mapping[str, Any]) -> Any:
    return await signoff.redeem(given["proposal_id"], given["permit"], given["parameters"])


async def _report(signoff: Signoff, given: Mapping[str, Any]) -> Any:
    return await signoff.report(given["proposal_id"], given["outcome"], given.get("receipt"))


def _tool(name: str, words: str, properties: Mapping[str, Any], *optional: str) -> types.Tool:
    schema: dict[str, Any] = {
        "type": "object",
        "properties": properties,
        "required": [key for key in properties if key not in optional],
        "additionalProperties": False,
    }
    return types.Tool(name=name, description=words, input_schema=schema)


def _document() -> dict[str, Any]:
    schema = proposal_schema()
    schema.pop("$schema")
    defs = schema.pop("$defs")
    return {"type": "object", "description": "A Proposal.", "$defs": defs, **schema} | {
        "$id": "urn:signoff:proposal"
    }


_ONE: Final[dict[str, Any]] = {"proposal_id": _ID}
_CALLS: Final[tuple[tuple[types.Tool, _Run], ...]] = (
    (
        _tool("list_tools", "List what can be proposed. To be listed is no permission.", {}),
        _list_tools,
    ),
    (
        _tool("propose", "Propose one action; people or rules decide.", {"document": _document()}),
        _propose,
    ),
    (
        _tool(
            "proposal",
            "Show one of your proposals, or a question that your plan was posted as, by its id.",
            _ONE,
        ),
        _proposal,
    ),
    (
        _tool(
            "wait",
            "Wait until a proposal of yours has ended, its permit waits for you, or the time is "
            "over; then show it. While it is open, call wait again. By the id of a question it "
            "waits for the answer of a reviewer.",
            _ONE | {"timeout_s": {"type": "integer", "minimum": 1, "maximum": _LONGEST_WAIT_S}},
            "timeout_s",
        ),
        _wait,
    ),
    (_tool("withdraw", "Take your proposal back.", _ONE), _withdraw),
    (
        _tool(
            "redeem",
            "Use up a permit with exactly the proposed parameters; act only after that.",
            _ONE | {"permit": {"type": "string"}, "parameters": {"type": "object"}},
        ),
        _redeem,
    ),
    (
        _tool(
            "report",
            "Report what you did under a permit; failed means nothing was left behind.",
            _ONE
            | {
                "outcome": {"type": "string", "enum": ["done", "failed"]},
                "receipt": {"type": "object"},
            },
            "receipt",
        ),
        _report,
    ),
)
#: By name: what an agent sees of a tool, and what carries out its calls.
TOOLS: Final = {tool.name: (tool, run) for tool, run in _CALLS}
