"""HTTP/1.1 as uvicorn speaks it, to clients that get to the point."""

from __future__ import annotations

import asyncio
from typing import Any, Final

from uvicorn.protocols.http.h11_impl import H11Protocol

#: So long a client may take to bring the whole head of a request it has begun, or not begun.
_HEAD_S: Final = 10.0


class PromptProtocol(H11Protocol):
    """Hangs up on whoever takes too long over the head of a request.

    uvicorn waits for it without end: a few hundred half requests, which need no token, would use
    up all descriptors of the bot, and it could neither hear nor write anything any more.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        """Begin without a clock running."""
        super().__init__(*args, **options)
        self._hanging_up: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for a head."""
        super().connection_made(transport)
        self._wait()

    def data_received(self, data: bytes) -> None:
        """Take what came; a whole head ends the waiting."""
        super().data_received(data)
        if self._answering():
            self._wait_no_more()
        elif self._hanging_up is None:
            self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the client."""
        self._wait_no_more()
        super().connection_lost(exc)

    def _wait(self) -> None:
        self._hanging_up = self.loop.call_later(_HEAD_S, self._hang_up)

    def _wait_no_more(self) -> None:
        if self._hanging_up is not None:
            self._hanging_up.cancel()
            self._hanging_up = None

    def _hang_up(self) -> None:
        self._hanging_up = None
        if not self._answering():
            self.transport.close()

    def _answering(self) -> bool:
        cycle: Any = self.cycle  # None before the first request, whatever uvicorn's types say
        return cycle is not None and not cycle.response_complete
