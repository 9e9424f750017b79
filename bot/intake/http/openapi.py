"""Make the OpenAPI 3.1 document from the table that also makes the routes."""

from __future__ import annotations

from collections.abc import Iterable
from http import HTTPStatus
from typing import Any, Final

from bot.intake.http.operations import Operation
from bot.intake.http.problems import PROBLEM_TYPE
from bot.intake.http.schemas import SCHEMAS

_SECURITY: Final[list[dict[str, list[str]]]] = [{"bearer": []}]
#: The schema of a varying part of a path.
_PLACE: Final = {"type": "string", "minLength": 1}


def openapi(operations: Iterable[Operation], url: str, version: str) -> dict[str, Any]:
    """Return the document for the door at `url`."""
    paths: dict[str, dict[str, Any]] = {}
    for operation in operations:
        paths.setdefault(operation.path, {})[operation.method.lower()] = _described(operation)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Signoff",
            "version": version,
            "description": "Agents propose, people sign off. There is no approve verb here.",
        },
        "servers": [{"url": url}],
        "paths": paths,
        "components": {
            "schemas": SCHEMAS,
            "securitySchemes": {"bearer": {"type": "http", "scheme": "bearer"}},
        },
    }


def _described(operation: Operation) -> dict[str, Any]:
    described: dict[str, Any] = {
        "operationId": operation.name,
        "summary": operation.words,
        "responses": _responses(operation),
        "security": [] if operation.open_to_all else _SECURITY,
    }
    parameters = [_in_path(name) for name in operation.places]
    parameters += [
        {
            "name": each.name,
            "in": "query",
            "required": False,
            "schema": each.schema,
            "description": each.words,
        }
        for each in operation.query
    ]
    if parameters:
        described["parameters"] = parameters
    if operation.body is not None:
        described["requestBody"] = {
            "required": True,
            "content": {"application/json": {"schema": _ref(operation.body)}},
        }
    return described


def _in_path(name: str) -> dict[str, Any]:
    return {"name": name, "in": "path", "required": True, "schema": _PLACE}


def _responses(operation: Operation) -> dict[str, Any]:
    found = {
        str(status): {
            "description": HTTPStatus(status).phrase,
            "content": {operation.media_type: {"schema": _ref(name)}},
        }
        for status, name in operation.answers.items()
    }
    for status in sorted({*operation.problems, *_everywhere(operation)}):
        found[str(status)] = _problem(status)
    return found


def _everywhere(operation: Operation) -> tuple[int, ...]:
    """Return the statuses of an operation that need no line of their own in the table."""
    guarded = () if operation.open_to_all else (401, 403, 429)
    carried = (408, 415) if operation.body is not None else ()
    return (*guarded, *carried, 503)


def _problem(status: int) -> dict[str, Any]:
    described: dict[str, Any] = {
        "description": HTTPStatus(status).phrase,
        "content": {PROBLEM_TYPE: {"schema": _ref("Problem")}},
    }
    if status in (429, 503):
        described["headers"] = {"Retry-After": {"schema": {"type": "string"}, "required": True}}
    if status == 401:
        described["headers"] = {
            "WWW-Authenticate": {"schema": {"type": "string"}, "required": True}
        }
    return described


def _ref(name: str) -> dict[str, str]:
    return {"$ref": f"#/components/schemas/{name}"}
