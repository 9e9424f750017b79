"""The body of a call, plain or multipart, read once."""

from __future__ import annotations

from typing import Any

import orjson
from aiohttp import web

_KEY = web.RequestKey("body", tuple) if hasattr(web, "RequestKey") else "body"


async def read_body(request: web.Request) -> tuple[dict[str, Any], dict[str, bytes]]:
    """Return the JSON and the files of a body."""
    if _KEY not in request:
        request[_KEY] = await _read(request)
    return request[_KEY]  # type: ignore[no-any-return]


async def _read(request: web.Request) -> tuple[dict[str, Any], dict[str, bytes]]:
    if not request.content_type.startswith("multipart/"):
        raw = await request.read() if request.can_read_body else b""
        return (orjson.loads(raw) if raw else {}), {}
    body: dict[str, Any] = {}
    files: dict[str, bytes] = {}
    async for part in await request.multipart():
        content = await part.read(decode=False)
        if part.name == "payload_json":
            body = orjson.loads(content)
        else:
            files[part.filename] = content
    return body, files
