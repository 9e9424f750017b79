"""Runs the bot from its start to a clean end: `signoff run` calls `run_until_stopped`.

What a former process left is taken up first; then surfaces, doors and jobs run until a signal or
the end of the surfaces. Everything here runs on the event loop, except `_cut_short`.
"""

from __future__ import annotations

import asyncio
import logging
import signal
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import (
    AbstractAsyncContextManager,
    AsyncExitStack,
    ExitStack,
    asynccontextmanager,
    suppress,
)
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TextIO, cast

from bot.bootstrap import App, opened, summaries_of
from bot.chat.showing.broadcast import Broadcast, ServedSurface
from bot.clocks.told import clock_behind
from bot.config import Config
from bot.config.surfaces import Choice
from bot.database_kept import keep_database
from bot.jobs import JOBS, catch_up
from bot.jobs.scheduler import Scheduler
from bot.process.cut_short import cut_short, ended_by_signals, ended_in_time, hear_anew, told_to_end
from bot.process.early_reload import keep_reloads, take_reload
from bot.process.forked import HANDLED, keep_signals_from_copies
from bot.process.garbage import spare_what_is_loaded
from bot.process.lookups import look_up_apart
from bot.process.pool import going_on, started_pool
from bot.process.supervised import Supervisor

if TYPE_CHECKING:
    from bot.chat.terminal.render import Screen

#: How many seconds calls under way may go on after SIGTERM; the process ends within 10 s.
GRACE_S: Final = 8.0
#: How many seconds surfaces have to show how things ended.
_LEAVE_S: Final = 1.0
#: How many seconds all of that may take, so that a moment is left for what waits to be written.
_ALL_S: Final = 9.4
#: How many seconds pass before the signals are taken back that a tool may have taken.
_KEPT_S: Final = 0.5
#: After this many turns of the loop a signal that has arrived is surely heard.
_TURNS: Final = 5

log = logging.getLogger("signoff")


async def run_until_stopped(config: Config, choice: Choice, environment: Mapping[str, str]) -> None:
    """Run the bot until it is told to stop or its surfaces have ended.

    After SIGTERM or SIGINT no new work is taken, and calls under way have GRACE_S seconds to end.
    SIGHUP reads the config again. If the start fails, raises one of EXPECTED, once everything that
    was opened is closed.
    """
    loop = asyncio.get_running_loop()
    loop.set_default_executor(started_pool())
    look_up_apart(loop)
    with _Signals() as signals, going_on(), suppress(_ToldToEnd):
        broadcast = Broadcast(_surfaces(config, choice, environment), summaries_of(config))
        async with opened(config, environment, broadcast, signals.deadly) as app:
            broadcast.attach(app.workflow.world)
            signals.serve(app)
            await _say_clock(app)
            await app.workflow.start()
            await catch_up.run_once(app.workflow)
            spare_what_is_loaded()
            async with AsyncExitStack() as doors:
                if choice.http:
                    await doors.enter_async_context(_doors(app, environment))
                supervisor = Supervisor(environment, app.store)
                await _serve(app, broadcast, signals, doors, supervisor)


async def _say_clock(app: App) -> None:
    """Warn once if the clock is behind the newest times in the trail; the bot works anyway."""
    now_ms = app.workflow.world.clock.now_ms()
    if behind := await app.store.read(lambda tx: clock_behind(tx, now_ms)):
        log.warning("%s", behind)


def _doors(app: App, environment: Mapping[str, str]) -> AbstractAsyncContextManager[str]:
    """Return the doors for agents; their modules are imported only if they are on."""
    from bot.intake.doors import served_doors

    entry = app.config.intake.http
    return served_doors(app.workflow, environment, entry.host, entry.port)


async def _serve(
    app: App,
    broadcast: Broadcast,
    signals: _Signals,
    doors: AsyncExitStack,
    supervisor: Supervisor,
) -> None:
    scheduler = Scheduler(JOBS, app.workflow, app.workflow.world.clock)
    scheduler.start()
    # If HTTP is on, the bot goes on after the end of every surface.
    served = broadcast.serve(app.workflow, on=app.config.intake.http.enabled)
    serving = [asyncio.create_task(each) for each in (served, keep_database(app), signals.keep())]
    supervisor.begun()
    signs = asyncio.create_task(supervisor.give_signs())
    try:
        await _until_ended(signals.ended, serving)
    finally:
        ends_s = asyncio.get_running_loop().time() + _ALL_S
        app.ends()
        supervisor.ending()
        # All at once, so that a surface that is slow to leave takes no time from calls and answers.
        leaving = _cancelled(signs, *serving)
        stopping = (scheduler.stop(GRACE_S), app.workflow.shut_down(GRACE_S), doors.aclose())
        await asyncio.gather(leaving, *stopping)
        # For what was begun as the surfaces left; this adds no time.
        await app.workflow.shut_down(GRACE_S)
        await _leave(broadcast, ends_s)


async def _until_ended(ended: asyncio.Event, serving: Sequence[asyncio.Task[None]]) -> None:
    """Wait for a signal, for the end of the last surface, or for an error after which the bot
    cannot go on, which is raised."""
    told = asyncio.create_task(ended.wait())
    try:
        await asyncio.wait((told, *serving), return_when=asyncio.FIRST_COMPLETED)
        for each in serving:
            if each.done():
                each.result()  # raises what broke it, which must not be lost
    finally:
        await _cancelled(told)


async def _cancelled(*tasks: asyncio.Task[Any]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def _leave(broadcast: Broadcast, ends_s: float) -> None:
    """Show how things ended, for `_LEAVE_S` seconds at most and not after `ends_s`, a loop time."""
    try:
        async with asyncio.timeout_at(min(ends_s, asyncio.get_running_loop().time() + _LEAVE_S)):
            await broadcast.close()
    except TimeoutError:
        log.warning("A surface was slow at the end; what it owes is shown after the next start.")


def _surfaces(
    config: Config, choice: Choice, environment: Mapping[str, str]
) -> list[ServedSurface]:
    """Return the surfaces that are on; only their modules are imported."""
    found = [_discord(config, environment)] if choice.discord else []
    found += [_slack(config, environment)] if choice.slack else []
    return [*found, _terminal(config)] if choice.terminal else found


def _discord(config: Config, environment: Mapping[str, str]) -> ServedSurface:
    from bot.chat.discord.notifier import DiscordSurface
    from bot.chat.discord.settings import discord_settings
    from bot.clocks.clock import SystemClock

    return DiscordSurface(discord_settings(config, environment), SystemClock())


def _slack(config: Config, environment: Mapping[str, str]) -> ServedSurface:
    from bot.chat.slack.notifier import SlackSurface
    from bot.chat.slack.settings import slack_settings

    return SlackSurface(slack_settings(config, environment))


def _terminal(config: Config) -> ServedSurface:
    from bot.chat.terminal.notifier import TerminalSurface

    return TerminalSurface(_screen(), (Path(), config.folder), config.data)


def _screen() -> Screen:
    """Return what the terminal writes to: a reader that reads nothing must not hold up the loop."""
    from bot.chat.terminal.render import Screen
    from bot.process.outlet import Outlet, TerminalOutlet

    if not sys.stdout.isatty():
        return Screen(Outlet(sys.stdout))
    drawn = TerminalOutlet(sys.stdout)
    sys.stdout = cast("TextIO", drawn)  # a prompt may put itself in its place later
    return Screen(None, behind=drawn)


class _ToldToEnd(Exception):
    """The bot was told to end while it started, before there was anything to do."""


class _Signals:
    """Handles signals: SIGTERM and SIGINT set `ended`, also during the start; SIGHUP reloads."""

    def __init__(self) -> None:
        self.app: App | None = None
        self.ended = asyncio.Event()
        self._reloading = asyncio.Lock()
        self._waits = False
        self._entered = ExitStack()

    def __enter__(self) -> _Signals:
        keep_signals_from_copies()
        self._hear()
        self._entered.enter_context(ended_in_time())
        return self

    def __exit__(self, *_: object) -> None:
        self._entered.close()
        loop = asyncio.get_running_loop()
        for taken in HANDLED:
            loop.remove_signal_handler(taken)

    def _hear(self) -> None:
        loop = asyncio.get_running_loop()
        for ending in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(ending, self._end)
        if self.app is None:
            keep_reloads()  # the loop hears no SIGHUP while tools are made (`deadly`)
        else:
            loop.add_signal_handler(signal.SIGHUP, self._reload)

    def hear_again(self) -> None:
        """Take back signals that a tool took, as code from a program of its own may: else no
        signal would end the bot, or SIGPIPE would as it writes to a peer that hung up."""
        self._hear()
        hear_anew()
        signal.signal(signal.SIGPIPE, signal.SIG_IGN)
        _wait_for_programs()

    async def keep(self) -> None:
        """Take the signals back every `_KEPT_S` seconds, until cancelled."""
        while True:
            self.hear_again()
            await asyncio.sleep(_KEPT_S)

    @asynccontextmanager
    async def deadly(self) -> AsyncIterator[None]:
        """Let SIGTERM or SIGINT end the process at once, while entered, in which tools are made.

        A tool that hangs as it is made holds up the loop, which then hears no signal. Nothing is
        under way yet, so that this end is as safe as any crash. Raises _ToldToEnd if a signal came
        before.
        """
        with ended_by_signals(_cut_short):
            for _ in range(_TURNS):
                await asyncio.sleep(0)
            if self.ended.is_set():
                raise _ToldToEnd
            yield
        self.hear_again()

    def serve(self, app: App) -> None:
        """Let signals act on `app`; an end or a reload that was heard before acts on it now."""
        self.app = app
        self.hear_again()
        if self.ended.is_set():
            app.ends()
        elif take_reload():
            self._reload()

    def _end(self) -> None:
        told_to_end()
        if self.app is not None:
            self.app.ends()
        self.ended.set()

    def _reload(self) -> None:
        if self.app is None or self._waits:
            return  # the reload that waits reads the config as well
        self._waits = True
        # The end waits for it, as for an act, because it writes to the store, which is closed then.
        self.app.workflow.world.background.spawn(self._reloaded(self.app))

    async def _reloaded(self, app: App) -> None:
        async with self._reloading:
            self._waits = False
            log.warning("%s", await app.reload())


def _wait_for_programs() -> None:
    """Set SIGCHLD to its default if it is ignored, which the bot may have inherited: the system
    would tell nobody how programs end, and no call of a command tool would have an outcome."""
    if signal.getsignal(signal.SIGCHLD) is signal.SIG_IGN:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)


def _cut_short() -> None:
    """End the process, on the thread of `ended_by_signals`."""
    log.warning("Told to end while the tools were being made; nothing was under way.")
    cut_short(0)
