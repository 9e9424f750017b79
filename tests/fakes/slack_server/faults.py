"""Faults that a test scripts: what the server does instead of answering well."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Kind = Literal[
    "ratelimited", "lost_answer", "dropped", "status", "error", "hangs", "unanswered", "vague"
]


@dataclass
class Fault:
    """What happens to calls of `method` ("*": any); `times` None means for ever.

    `every` 3 hits each third matching call. lost_answer acts and hangs up, dropped hangs up before
    acting, status answers `status`, error answers ok: false with `error`; hangs neither acts nor
    answers, unanswered acts and says nothing, vague acts and says
    no more than `ok: true` and `says`. `holding` hits only calls whose arguments hold these
    words.
    """

    method: str
    kind: Kind
    times: int | None = 1
    every: int = 1
    retry_after_s: int = 1
    status: int = 500
    error: str = "internal_error"
    needed: str | None = None
    holding: str = ""
    says: Mapping[str, object] = field(default_factory=dict)
    seen: int = 0

    def hits(self, method: str, arguments: dict[str, Any]) -> bool:
        """Count this call; True where it is to fail."""
        if self.method not in ("*", method) or self.times == 0:
            return False
        if self.holding not in str(arguments):
            return False
        self.seen += 1
        if self.seen % self.every:
            return False
        if self.times is not None:
            self.times -= 1
        return True


class RateLimited(Exception):
    """429 with Retry-After, nothing was done."""

    def __init__(self, retry_after_s: int) -> None:
        super().__init__(retry_after_s)
        self.retry_after_s = retry_after_s


class SlackError(Exception):
    """ok: false."""

    def __init__(self, error: str, **more: object) -> None:
        super().__init__(error)
        self.body = {"ok": False, "error": error} | more


Hook = Callable[[str], None]
