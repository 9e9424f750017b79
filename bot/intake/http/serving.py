"""Serve the door on a socket inside the bot's own event loop."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from typing import Final, cast

import uvicorn
from starlette.applications import Starlette

from bot.expected import StartFailed
from bot.intake.http.callbacks import Callbacks
from bot.intake.http.door import Door
from bot.intake.http.protocol import FULL, PromptProtocol, backlog
from bot.intake.http.waiting import Heard
from bot.intake.http.well_formed import WellFormed
from bot.process.listening import ListeningSocket, stopped
from lifecycle.workflow import Workflow

#: A little longer than calls under way have (bot.running), so that they are answered. With what
#: follows, the process still ends within 10 s.
LEAVE_S: Final = 8.3
_LAST_S: Final = 0.5
#: The kernel's buffer for one answer; with a larger one nobody could see whether it is taken.
_KEPT_BYTES: Final = 64 * 1024


class _Server(uvicorn.Server):
    """A uvicorn server that leaves signals to the bot."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave signals alone."""
        yield

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop listening; connections accepted in the same moment are told of the end, too."""
        for server in self.servers:
            await stopped(server)
        await super().shutdown(sockets)


def bound(host: str, port: int) -> socket.socket:
    """Return a socket that listens. Raises StartFailed with a sentence."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = ListeningSocket(family, FULL)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _KEPT_BYTES)
        listening.bind((host, port))
        listening.listen(backlog())
    except OSError as error:
        listening.close()
        raise StartFailed(
            f"intake.http cannot listen on {host}:{port} ({error.strerror or error}). Choose "
            "another port, or stop what listens there."
        ) from None
    return listening


@contextlib.asynccontextmanager
async def served(
    workflow: Workflow,
    environment: Mapping[str, str],
    host: str,
    port: int,
    build: Callable[[Door], Starlette],
) -> AsyncIterator[str]:
    """Serve what `build` makes of the door while entered; yields the address.

    Raises StartFailed.
    """
    listening = bound(host, port)
    door = Door.to(workflow, environment)
    callbacks = Callbacks(workflow.world, environment)
    workflow.world.notifier = Heard(workflow.world.notifier, callbacks.heard)
    server = _Server(_settings(build(door)))
    tasks = [
        asyncio.create_task(server.serve(sockets=[listening])),
        asyncio.create_task(door.waiting.watch()),
        asyncio.create_task(callbacks.run()),
    ]
    try:
        await _started(server, tasks[0])
        yield "http://{}:{}".format(*listening.getsockname()[:2])
    finally:
        door.waiting.close()
        server.should_exit = True
        await asyncio.wait(tasks[:1], timeout=LEAVE_S + _LAST_S)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _settings(app: Starlette) -> uvicorn.Config:
    return uvicorn.Config(
        WellFormed(app),
        http=PromptProtocol,
        ws="none",  # not spoken here, and it would replace our protocol
        log_config=None,
        log_level="error",  # strangers could fill the log with warnings of broken messages
        access_log=False,
        lifespan="on",
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=cast("int", LEAVE_S),  # asyncio gets it, and takes fractions
        timeout_keep_alive=30,
        backlog=backlog(),
    )


async def _started(server: uvicorn.Server, task: asyncio.Task[None]) -> None:
    while not server.started:
        if task.done():
            task.result()
            raise StartFailed("The HTTP door ended before it had begun.")
        await asyncio.sleep(0.01)
