"""crashresume over real deaths: each life is a process, killed with SIGKILL where it says.

`conform` crashes after every effect, makes the subject anew and steps all inputs again. Here a
crash is the end of the process that made the effect, before it hears that it was made; what is
made anew is another process over the same SQLite file. Prints one JSON object: what was found of
each subject. `python -m tests.judges.crashing FOLDER`
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import sys
import traceback
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from crashresume.core import Context, InjectedCrash, conform

from bot.storage import sqlite  # noqa: F401 - so that no life pays for importing it
from lifecycle.proposal import Proposal
from tests.crash.driver import prepared
from tests.judges.lives import Life, Line, People, Wish, lived, person

#: Every way in which a tool is called, and one proposal that calls none.
WISHES = (
    Wish(1, "effect-auto"),
    Wish(2, "effect-confirm", ("ana", "ben")),
    Wish(3, "effect-again", ("ana",)),
    Wish(4, "effect-deferred", ("ana",)),
    Wish(5, "effect-compensated", ("ana",), stopped_by="ben"),
    Wish(6, "effect-confirm", stopped_by="ben"),
)
#: What the world outside makes once under one key, however often it is called.
IDEMPOTENT = "wish-3:"
#: Enough for what is wrong on purpose.
ONE = WISHES[1:2]


class Blind(People):
    """Have it tried again, and have not looked."""

    async def care(self, life: Life, proposal: Proposal) -> None:
        await life.app.workflow.retry(proposal.proposal_id, person("ana"))


class Denying(People):
    """Say that nothing happened, and have not looked."""

    async def care(self, life: Life, proposal: Proposal) -> None:
        await life.app.workflow.settle(proposal.proposal_id, person("ana"), False)


class Away(People):
    """Do nothing."""

    async def care(self, life: Life, proposal: Proposal) -> None:
        return


@dataclass
class Seen:
    """How often a process was killed, a tool called again and somebody asked what happened."""

    killed: int = 0
    called_again: int = 0
    looked: int = 0


class Subject:
    """One process of the bot, seen from the one that watches."""

    def __init__(
        self, ctx: Context, folder: Path, life: Callable[[Path, Line], Any], seen: Seen
    ) -> None:
        self._ctx, self._seen = ctx, seen
        place = folder / ctx.run_id
        if not place.exists():
            prepared(place)
        ours, theirs = socket.socketpair()
        self._pid = os.fork()
        if self._pid == 0:
            ours.close()
            _live(theirs, lambda line: life(place, line))
        theirs.close()
        with ours:
            self._stream = ours.makefile("rw", encoding="utf-8")
        self._line = Line(self._stream)
        self._answered()  # it has taken up what a former process left

    def step(self, wish: Wish) -> None:
        """Have a wish fulfilled."""
        self._told(asdict(wish))

    def state(self) -> dict[str, Any]:
        """Return how everything stands, and let this life end in peace."""
        stands: dict[str, Any] = self._told("how does it stand?")
        self._line.says("goodbye")
        assert self._ends() == 0
        return stands

    def _told(self, what: Any) -> Any:
        """Say something; return what is answered."""
        self._line.says(what)
        return self._answered()

    def _answered(self) -> Any:
        """Be the world outside until it is done."""
        while "done" not in (said := self._line.hears()):
            if "known" in said:
                self._seen.looked += 1
                self._line.says(self._made(said["known"]))
            else:
                self._effect(said["effect"], said["key"], said["payload"])
        return said["done"]

    def _effect(self, verb: str, key: str, payload: Any) -> None:
        """Make an effect: once where the tool is marked idempotent, each time where it is not."""
        again = self._made(key)
        self._seen.called_again += again
        try:
            if not (again and key.startswith(IDEMPOTENT)):
                self._ctx.effect(verb, payload, key)
        except InjectedCrash:
            os.kill(self._pid, signal.SIGKILL)
            self._seen.killed += os.WTERMSIG(self._ends()) == signal.SIGKILL
            raise
        self._line.says("made")

    def _made(self, key: str) -> bool:
        return any(effect.key == key for effect in self._ctx.effects.effects)

    def _ends(self) -> int:
        """Wait for the end of this life; return how it ended."""
        self._stream.close()
        return os.waitpid(self._pid, 0)[1]


def _live(theirs: socket.socket, life: Callable[[Line], Any]) -> None:
    """Live in this process, and leave it without what its parent had."""
    try:
        with theirs.makefile("rw", encoding="utf-8") as stream:
            asyncio.run(life(Line(stream)))
    except BaseException:
        traceback.print_exc()
        os._exit(1)
    os._exit(0)


def found(folder: Path, wishes: Sequence[Wish], people: People, **how: Any) -> dict[str, Any]:
    """Let the judge kill and restart; return what it has to say, and what was seen."""
    seen = Seen()

    def factory(ctx: Context) -> Subject:
        def life(place: Path, line: Line) -> Any:
            return lived(place, line, people, **how)

        return Subject(ctx, folder, life, seen)

    report = conform(factory, wishes)
    findings = sorted({finding.kind for finding in report.findings})
    told = {"points": report.crash_points, "findings": findings, "words": str(report)}
    return told | asdict(seen)


def main() -> None:
    """Judge the product, and subjects that are wrong on purpose."""
    folder = Path(sys.argv[1])
    told = {
        "signoff": found(folder / "signoff", WISHES, People()),
        "blind": found(folder / "blind", ONE, Blind()),
        "denying": found(folder / "denying", ONE, Denying()),
        "away": found(folder / "away", ONE, Away()),
        "forgetting": found(folder / "forgetting", ONE, People(), forgets=True),
    }
    sys.stdout.write(json.dumps(told))


if __name__ == "__main__":
    main()
