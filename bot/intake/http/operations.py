"""Describe an operation of the door: its OpenAPI words and the function that carries it out."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response

from bot.intake.http.door import Door
from lifecycle.answers import Sender

Run = Callable[[Door, Request, Sender], Awaitable[Response]]

_PLACES: Final = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True, slots=True)
class Parameter:
    """A query parameter; `schema` is JSON Schema."""

    name: str
    schema: Mapping[str, Any]
    words: str


@dataclass(frozen=True, slots=True)
class Operation:
    """One method on one path. `answers` are schemas by status, `problems` the other statuses.

    `open_to_all` needs no token; `body` is the name of the schema of the body.
    """

    method: str
    path: str
    name: str
    words: str
    run: Run
    answers: Mapping[int, str]
    problems: tuple[int, ...] = ()
    body: str | None = None
    query: tuple[Parameter, ...] = ()
    open_to_all: bool = False
    media_type: str = "application/json"

    @property
    def places(self) -> tuple[str, ...]:
        """The names of the varying parts of the path."""
        return tuple(_PLACES.findall(self.path))
