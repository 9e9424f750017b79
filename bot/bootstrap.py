"""The composition root turns a config into an App; it alone knows the concrete classes.

`opened` is entered by `bot/running.py`, and by `signoff propose` for one proposal.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final

from bot.clocks.boot_id import boot_id
from bot.clocks.clock import SystemClock
from bot.clocks.resumed import resume_clock
from bot.config import Config, ConfigInvalid, load_config
from bot.config.own_code import changed_since_loaded
from bot.config.programs import with_python
from bot.config.reading import text_digest_of
from bot.config.surfaces import choose
from bot.expected import StartFailed
from bot.keys import load_ring, passing_ring
from bot.own_state import OwnState
from bot.process.cancelling import being_cancelled
from bot.storage import open_store
from bot.storage.identity import check_brought_back, known_as
from bot.storage.lock import path_of_lock
from bot.storage.spool import FileSpool
from bot.storage.sqlite import SqliteStore
from bot.storage.stop_lines import others_wait
from bot.tools.copies import CopiesMark, end_copies
from bot.tools.leftovers import Leftovers
from bot.tools.python import started_in
from bot.tools.threads import beside
from bot.tools.toolbox import ConfiguredToolbox
from bot.troubles import EXPECTED
from lifecycle.checking.sentinel_run import Sentinel
from lifecycle.located import located
from lifecycle.permit import KeyRing
from lifecycle.ports import Notifier, ProposalStore
from lifecycle.stops.lost_stops import tell_of_lost_stops
from lifecycle.workflow import Workflow
from lifecycle.world import Law, World

_NONCE_BYTES: Final = 16
#: How long reading the config and making the operators' tools may take at a reload, in seconds.
_MADE_S: Final = 60.0
_NOT_MADE: Final = (
    "reading it, and making its tools, did not end within a minute. Look at the modules and the "
    "classes of your own tools, then reload again; a module that was still loading then is not "
    "loaded anew before a restart."
)
_ONLY_AT_START: Final = ("database", "permit_secret_env", "chat", "intake", "groups")

log = logging.getLogger("signoff")


@dataclass(slots=True)
class App:
    """A bot that is put together; it serves while `opened` is entered. Used on the event loop."""

    config: Config
    workflow: Workflow
    toolbox: ConfiguredToolbox
    store: ProposalStore
    started_with: Config
    state: OwnState
    environment: Mapping[str, str]
    reloading: asyncio.Lock = field(default_factory=asyncio.Lock)

    def ends(self) -> None:
        """Begin the end: take no new work, and wait only shortly for a lock on the database."""
        self.workflow.world.ending = True
        if isinstance(self.store, SqliteStore):
            self.store.hurry()

    def keep_database(self) -> None:
        """Take the lock on the database again if somebody removed its file; do nothing else.

        Raises StoreUnavailable if the store has stopped for good, AlreadyRunning if another process
        has the database by now, CannotOpen if no lock file can be made.
        """
        if not isinstance(self.store, SqliteStore):
            return
        self.store.check_serving()
        if self.store.keep_lock():
            self.state.told_again()
            log.warning(
                "The lock file of the database was removed while this bot works with it, and is "
                "made again. Leave it where it is: it keeps a second bot out."
            )

    async def reload(self) -> str:
        """Read the config again and return words about the outcome; the old one stays in force if
        the new one is invalid."""
        async with self.reloading:
            return await self._reloaded()

    async def _reloaded(self) -> str:
        try:
            fresh, notes, swap = await self._prepared()
            return await self._adopt(fresh, notes, swap)
        except ConfigInvalid as error:
            words = f"The config is invalid and the old one stays in force:\n{error}"
            return self._refused(words)
        except (ValueError, *EXPECTED) as error:
            return self._not_taken(str(error))
        except BaseException as error:
            if being_cancelled() or isinstance(error, GeneratorExit):
                raise
            return self._not_taken(located(error))  # raised by tools or rules that others wrote

    async def _prepared(self) -> tuple[Config, list[str], Callable[[], None]]:
        """Read the config and make its tools, each on a thread of its own.

        Returns the config, its notes, and the function that puts the tools in service. Raises
        StartFailed after `_MADE_S` seconds: neither the end nor the next reload, which may be meant
        to take something away from somebody, waits for a tool's module or class that hangs.
        """
        try:
            async with asyncio.timeout(_MADE_S):
                fresh, notes = await beside(self._read, "signoff-config")
                making = partial(self.toolbox.prepared, fresh.policy.tools)
                return fresh, notes, await beside(making, "signoff-tools")
        except TimeoutError as error:
            raise StartFailed(_NOT_MADE) from error

    def _read(self) -> tuple[Config, list[str]]:
        """Read the config and return it with the notes that are new since the one in force.

        The notes are made by the bot's own environment, because the shell that asked for the reload
        has another one.
        """
        self.state.read_last = text_digest_of(self.config.path)
        fresh = load_config(self.config.path)
        known = self._notes(self.config)
        new = (note for note in self._notes(fresh) if note not in known)
        return fresh, [*new, *changed_since_loaded()]

    def _notes(self, config: Config) -> tuple[str, ...]:
        kept = {part: getattr(self.started_with, part) for part in _ONLY_AT_START}
        return choose(replace(config, **kept), self.environment, attached=False).notes

    def _not_taken(self, why: str) -> str:
        return self._refused(f"The config could not be taken and the old one stays in force: {why}")

    def _refused(self, words: str) -> str:
        return self.state.refused("\n".join((words, *changed_since_loaded())))

    async def _adopt(self, fresh: Config, notes: Sequence[str], swap: Callable[[], None]) -> str:
        """Swap tools and law in one step: no tool of the new config serves an approval of the old.

        Open proposals are judged again in the background, which may take a minute; no caller and no
        next reload waits for that. The end of the bot does.
        """
        sentinel, told = sentinel_of(fresh), list[str]()

        def in_force() -> None:
            swap()
            self.config = fresh
            told.append(self.state.taken(fresh, only_at_start(self.started_with, fresh), notes))

        await self.workflow.put_in_force(fresh.policy, sentinel, in_force)
        self.workflow.world.background.spawn(self.workflow.judge_open())
        return told[0]


@asynccontextmanager
async def opened(
    config: Config,
    environment: Mapping[str, str],
    notifier: Notifier,
    making: Callable[[], AbstractAsyncContextManager[object]] = nullcontext,
) -> AsyncIterator[App]:
    """Put a bot together, and release everything at the end, also if the start fails.

    No work of the past is taken up and no job runs. Tools are made in `making()`. Raises EXPECTED.
    """
    async with AsyncExitStack() as closing:
        store = await _store(config, closing)
        clock = SystemClock()
        tools = await _tools(config, environment, clock.now_ms, closing, making)
        world = World(
            store=store,
            clock=clock,
            notifier=notifier,
            toolbox=tools,
            spool=await _spool(config, store),
            ring=ring_of(config, environment),
            nonce=lambda: secrets.token_urlsafe(_NONCE_BYTES),
            law=Law(config.policy, sentinel_of(config)),
            public_url=config.intake.http.public_url,
            started_in=started_in,
        )
        state = OwnState(config, clock.now_ms)
        closing.callback(state.close)
        world.troubles.unwritten = state.unwritten
        workflow = Workflow(world)
        closing.callback(tell_of_lost_stops, world)  # runs after shut_down, which may write them
        # A start that fails must not cut off what it has begun either.
        closing.push_async_callback(workflow.shut_down)
        await resume_clock(world, await asyncio.to_thread(boot_id))
        yield App(config, workflow, tools, store, config, state, environment)


async def _store(config: Config, closing: AsyncExitStack) -> ProposalStore:
    file = config.database_file
    is_new = file is not None and not file.exists()
    store = await open_store(config.database, config.folder)
    closing.push_async_callback(store.close)
    await check_brought_back(store, file)
    if is_new:  # a start in a wrong folder would else go unnoticed
        log.warning("There was no database %s: a new one was made.", file)
    return store


async def _tools(
    config: Config,
    environment: Mapping[str, str],
    now_ms: Callable[[], int],
    closing: AsyncExitStack,
    making: Callable[[], AbstractAsyncContextManager[object]],
) -> ConfiguredToolbox:
    """Make the tools within `making()`. It happens on the loop, because some tools need one; a tool
    that hangs there holds up the loop for ever."""
    leftovers, handed_on = await _none_left(config, closing), with_python(environment)
    async with making():
        return ConfiguredToolbox(config.policy.tools, config.folder, handed_on, now_ms, leftovers)


async def _spool(config: Config, store: ProposalStore) -> FileSpool:
    known = await known_as(store, partial(others_wait, config.spool))
    in_file = config.database_file is not None
    return FileSpool(config.spool, known.name, unnamed=in_file, forgotten=known.forgotten)


async def _none_left(config: Config, closing: AsyncExitStack) -> Leftovers:
    """End what a former process of this database left running, and mark what tools fork from now on
    until `closing`. The lock on the database says that nothing of another bot is among it."""
    file = config.database_file
    # Links are resolved, as for the lock: the next start may use another name of the database.
    folder = None if file is None else path_of_lock(file).with_suffix(".running")
    leftovers = Leftovers(folder)
    if folder is not None:
        # They come first: a copy could start further programs.
        staying = await asyncio.to_thread(end_copies, folder)
        if staying := staying + await asyncio.to_thread(leftovers.end_all):
            words = "Programs of tools that were called before the last end may still run: %d."
            log.warning(words, staying)
        try:
            closing.callback(CopiesMark(folder).let_go)
        except OSError as error:
            words = "What tools fork cannot be marked in %s: if the bot is killed, it goes on. %s"
            log.warning(words, folder, error.strerror)
    return leftovers


def only_at_start(before: Config, fresh: Config) -> list[str]:
    """Return the parts in which `fresh` differs and which are read only at a start."""
    return [part for part in _ONLY_AT_START if getattr(before, part) != getattr(fresh, part)]


def sentinel_of(config: Config) -> Sentinel:
    """Return the Sentinel of a config's rules. Raises ValueError if it was read without them."""
    if {rule.id for rule in config.rules} != config.policy.rules.keys():
        raise ValueError(f"{config.path} was read without its rules")
    return Sentinel(config.rules)


def summaries_of(config: Config) -> dict[str, str]:
    """Return the summary of each rule's law, one sentence, by rule id."""
    return {loaded.id: loaded.rule.summary for loaded in config.rules}


def ring_of(config: Config, environment: Mapping[str, str]) -> KeyRing:
    """Return the keys that sign permits. With a store in memory and no secret in the environment
    they end with the process, as the store does."""
    if config.database_file is None and config.permit_secret_env not in environment:
        return passing_ring()
    return load_ring(config.data, config.permit_secret_env, environment)
