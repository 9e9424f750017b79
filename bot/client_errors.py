"""What an agent's client meets: a no of Signoff's, or no answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class SignoffRefused(Exception):
    """Signoff said no. `reason` is the stable code, `retry` whether to try again."""

    def __init__(self, reason: str, explanation: str, answer: Mapping[str, Any]) -> None:
        """Keep the whole answer: `errors` say what to change."""
        super().__init__(f"{reason}: {explanation}" if explanation else reason)
        self.reason = reason
        self.explanation = explanation
        self.answer = dict(answer)
        self.retry = self.answer.get("retry")


class SignoffUnreachable(Exception):
    """The bot could not be reached, or answered what nobody understands."""
