"""Answer about tools, policy, schema, tasks, health and metrics."""

from __future__ import annotations

from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response

from bot.intake.http import queries
from bot.intake.http.door import Door
from bot.intake.http.problems import json_response, problem
from lifecycle.answers import Sender
from lifecycle.binding import NORMALIZER
from lifecycle.first_gate.parameter_shapes import shape_of
from lifecycle.freezing import frozen
from lifecycle.moment import rfc3339
from lifecycle.policy import ToolPolicy
from lifecycle.ports import StoreUnavailable, Transaction
from lifecycle.records import Task
from lifecycle.schema import proposal_schema
from lifecycle.text.masking import mask_text

_METRICS: Final = "text/plain; version=0.0.4; charset=utf-8"


async def tools(door: Door, _incoming: Request, _sender: Sender) -> Response:
    """List the tools. The list is advisory: being in it is no permission (seed 004)."""
    found = sorted(door.policy.tools.values(), key=lambda tool: tool.name)
    return json_response({"advisory": True, "tools": [_tool(each) for each in found]})


def _tool(tool: ToolPolicy) -> dict[str, Any]:
    return {
        "name": tool.name,
        "tier": tool.tier.value,
        "action_type": tool.action_type.value,
        "kind": tool.kind.value if tool.kind else None,
        "match": dict(tool.match),
        "safety": tool.safety.value,
        "sensitivity": tool.sensitivity.value,
        "roles": sorted(tool.roles) if tool.roles is not None else None,
        "quorum_class": tool.quorum_class.value,
        "window_s": tool.window_s,
        "reversible": tool.reversible,
        "effects": list(tool.effects),
        "parameters": shape_of(tool),
    }


async def policy(door: Door, _incoming: Request, _sender: Sender) -> Response:
    """Return what plans are bound to, the rules and the limits."""
    limits = door.policy.limits
    return json_response(
        {
            "policyDigest": door.policy.digest,
            "normalizerId": NORMALIZER,
            "rules": [
                {"rule": rule, "level": settings.level.value}
                for rule, settings in door.policy.rules.items()
            ],
            "limits": {
                "proposal_ttl_s": limits.proposal_ttl_s,
                "refusal_binds_s": limits.refusal_binds_s,
                "clock_skew_s": limits.clock_skew_s,
                "longest_window_s": limits.longest_window_s,
                "rate": {safety.value: count for safety, count in limits.rate.items()},
            },
        }
    )


async def whoami(_door: Door, _incoming: Request, sender: Sender) -> Response:
    """Return as whom a token speaks."""
    return json_response({"kind": sender.kind.value if sender.kind else None, "id": sender.id})


async def schema(_door: Door, _incoming: Request, _sender: Sender) -> Response:
    """Return the JSON Schema of a proposal."""
    return json_response(proposal_schema())


async def tasks(door: Door, incoming: Request, sender: Sender) -> Response:
    """Return the tasks of the sender's own proposals, by id, a page at a time."""
    limit, behind = queries.items(incoming.query_params), queries.cursor(incoming.query_params)
    after_id = behind[1] if behind else ""

    def view(tx: Transaction) -> dict[str, Any]:
        found = tx.backlog.tasks(sender.id or "", limit + 1, after_id)
        page = found[:limit]
        more = queries.cursor_of(0, page[-1].task_id) if len(found) > limit else None
        return {"tasks": [_task(each) for each in page], "next_cursor": more}

    return json_response(await door.store.read(view))


async def task(door: Door, incoming: Request, sender: Sender) -> Response:
    """Return one task that a proposal of the sender's came from."""
    task_id = incoming.path_params["task_id"]

    def view(tx: Transaction) -> Task | None:
        return tx.backlog.get(sender.id or "", task_id)

    found = await door.store.read(view)
    if found is None:
        return problem(404, "You have no task with this id.", code="unknown_proposal")
    return json_response(_task(found))


def _task(found: Task) -> dict[str, Any]:
    return {
        "task_id": found.task_id,
        "state": found.state,
        "proposal_id": found.proposal_id,
        "reason": found.reason or None,
        "explanation": mask_text(found.explanation),
        "updated_at": rfc3339(found.updated_at_ms),
    }


async def healthz(door: Door, _incoming: Request, _sender: Sender) -> Response:
    """Return whether the store works and whether everything is frozen; strangers learn no more."""
    if door.workflow.world.troubles.unwritten.since_ms is not None:
        return problem(503, "The store cannot be written.", code="audit_unavailable")
    try:
        stopped = await door.store.read(frozen)
    except StoreUnavailable:
        return problem(503, "The store cannot be read.", code="audit_unavailable")
    frozen_now = stopped is not None or bool(door.workflow.world.heard.freezes())
    return json_response({"status": "ok", "frozen": frozen_now})


async def metrics(door: Door, _incoming: Request, _sender: Sender) -> Response:
    """Return the numbers in the text format of Prometheus."""
    return Response(await door.metrics.text(), 200, {"content-type": _METRICS})
