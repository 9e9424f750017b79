"""A terminal over the whole law: what is typed, and every line that is answered."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bot.chat.commands.commands import Commands
from bot.chat.showing.broadcast import Broadcast
from bot.chat.showing.delivery import Delivery
from bot.chat.terminal.client import TerminalClient
from bot.chat.terminal.documents import Said
from bot.chat.terminal.notifier import TerminalSurface
from bot.chat.terminal.render import Screen
from bot.storage.memory import MemoryStore
from lifecycle.policy import Policy
from lifecycle.workflow import Workflow
from tests.builders import MAIL, a_document
from tests.world import World, a_world

SEARCH = a_document(
    MAIL,
    proposal_id="s1",
    tool="search",
    action_type="read",
    parameters={"q": "invoice"},
    justification=None,
)


class Lines:
    """Lines that were typed before the test began; a fake of the input."""

    amid = False

    def __init__(self, *lines: bytes) -> None:
        self._lines = list(lines)

    async def next(self, *, within: bool = False) -> bytes | None:
        return self._lines.pop(0) if self._lines else None


@dataclass
class AnyTerminal:
    """What is typed, and every line that is printed, over whichever law."""

    client: TerminalClient
    commands: Commands
    paper: io.StringIO
    seen: int = field(default=0)

    async def types(self, line: str | bytes) -> list[str]:
        """Type one line and return what was printed for it."""
        await self.client.answer(Said(line.encode() if isinstance(line, str) else line))
        return self.fresh()

    def fresh(self) -> list[str]:
        """Return the lines that were printed since the last look."""
        lines = self.printed
        new, self.seen = lines[self.seen :], len(lines)
        return new

    @property
    def printed(self) -> list[str]:
        """All lines."""
        return self.paper.getvalue().split("\n")[:-1]


@dataclass(kw_only=True)
class Terminal(AnyTerminal):
    """A terminal at which a story is typed; `printed` are all lines so far."""

    world: World

    async def proposes(
        self, base: Mapping[str, Any] = MAIL, /, *, by: str = "leila", **changes: Any
    ) -> dict[str, Any]:
        """Type a proposal made now and return the answer, the first JSON line."""
        changes.setdefault("ts_ms", self.world.clock.now_ms())
        document = a_document(base, **({"actor": by} | changes))
        lines = await self.types(f"{by}: propose {json.dumps(document)}")
        return documents(lines)[0]


def documents(lines: list[str]) -> list[dict[str, Any]]:
    """Return the JSON objects among printed lines."""
    return [json.loads(line) for line in lines if line.startswith("{")]


def a_terminal(
    policy: Policy | None = None, *folders: Path, world: World | None = None
) -> Terminal:
    """Set up a terminal over a memory store, or over `world`."""
    world = world or a_world(MemoryStore(), policy)
    paper = io.StringIO()
    screen = Screen(paper)
    broadcast = Broadcast([TerminalSurface(screen)])
    world.workflow.world.notifier = broadcast
    broadcast.attach(world.workflow.world)
    commands = Commands(world.workflow, health=broadcast.health)
    client = TerminalClient(commands, broadcast.delivery("terminal"), screen, folders=folders)
    return Terminal(client, commands, paper, world=world)


def a_terminal_beside(workflow: Workflow, broadcast: Broadcast) -> AnyTerminal:
    """Set up a terminal beside the surfaces of a bot that runs; no card is shown there."""
    paper = io.StringIO()
    screen = Screen(paper)
    commands = Commands(workflow, health=broadcast.health)
    delivery = Delivery(workflow.world, TerminalSurface(screen))
    return AnyTerminal(TerminalClient(commands, delivery, screen, folders=()), commands, paper)
