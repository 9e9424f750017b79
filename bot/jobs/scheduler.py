"""Run the jobs with APScheduler; no other module imports it.

It has no job store, and no job for a single proposal. A few interval jobs with fixed names ask the
store what is due, so that starting twice, waking late and dying in between all end in the same
rounds.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Final

from apscheduler.schedulers.asyncio import AsyncIOScheduler
from apscheduler.triggers.interval import IntervalTrigger

from bot.jobs.job import Job
from bot.process.cancelling import being_cancelled
from lifecycle.located import located
from lifecycle.ports import Clock, RowAtFault, StoreUnavailable
from lifecycle.workflow import Workflow
from lifecycle.workings.rows_met import rows_met
from lifecycle.workings.troubles import Troubles

LONGEST_PAUSE_S: Final = 60
#: The longest pause after a fault of one row. The other proposals must not wait long for the next
#: round, and a longer pause would begin a wait for cards anew (`lifecycle.stops.heard_first`).
_LONGEST_FOR_ONE_S: Final = 5
#: Much longer than a round with thousands of proposals takes.
LONGEST_ROUND_S: Final = 600
_LATE_S: Final = 10
#: A job that is due at this time is due whatever the wall clock says.
_LONG_AGO: Final = datetime(1970, 1, 1, tzinfo=UTC)
_STORE: Final = "asking the store what is due"

log = logging.getLogger(__name__)


class Round:
    """The rounds of one job; after a failure, which is logged, the next waits, up to a minute."""

    def __init__(self, job: Job, workflow: Workflow, clock: Clock) -> None:
        """Bind the job to the running bot."""
        self.job = job
        self._workflow = workflow
        self._clock = clock
        self._failures = 0
        self._undone: set[str] = set()
        self._not_before_ms = 0
        self._unwritten = False
        self._too_soon = False
        self._began_ms = 0
        self._hangs = False
        self.running = False

    async def run(self) -> None:
        """Run one round, unless the pause after a failure is not over.

        It raises only if its task is cancelled. A library may raise CancelledError for reasons of
        its own, and that is a failure as any other.
        """
        pauses = self._clock.now_ms() < self._not_before_ms
        if self.running or (pauses and not self._taken_again()):
            return
        self._too_soon |= pauses  # unless it goes well now
        self.running, self._began_ms = True, self._clock.now_ms()
        try:
            with rows_met() as met:
                await self.job.run_once(self._workflow)
            if met:
                self._back_off(met[0])
            else:
                self._well()
        except (Exception, asyncio.CancelledError) as error:
            if being_cancelled():
                raise
            self._back_off(error)
        finally:
            self.running = False
            if self._hangs:
                self._hangs = False
                self._troubles.step_ended(self.job.doing)

    def look(self) -> None:
        """Tell people of a round that does not end, which keeps the next one from beginning.

        If the store does not answer they know, and that to restart the bot is no help.
        """
        long = self._clock.now_ms() - self._began_ms >= LONGEST_ROUND_S * 1000
        if not (self.running and long) or self._hangs or self._troubles.unwritten.only_hung:
            return
        self._hangs = True
        self._troubles.step_hangs(self.job.doing, self._began_ms)

    @property
    def _troubles(self) -> Troubles:
        return self._workflow.world.troubles

    def _taken_again(self) -> bool:
        """Return True if the store failed in the last round and takes everything again.

        Then the pause is cut short, so that a stop that was kept meanwhile need not wait. It is not
        cut short again if that round failed as well: it may be the unit of this very job that
        fails, at a damaged page, and people would hear of trouble and all-clear at every round.
        """
        trusted = self._unwritten and not self._too_soon
        return trusted and self._troubles.unwritten.since_ms is None

    def _well(self) -> None:
        self._failures, self._too_soon = 0, False
        while self._undone:
            self._troubles.step_mended(self._undone.pop(), self.job.name)

    def _back_off(self, error: BaseException) -> None:
        self._failures += 1
        self._tell(error)
        failed = isinstance(error, StoreUnavailable)
        self._unwritten = failed and self._troubles.unwritten.since_ms is not None
        longest_s = _LONGEST_FOR_ONE_S if isinstance(error, RowAtFault) else LONGEST_PAUSE_S
        pause_s = min(longest_s, 2 ** min(self._failures, 10))
        self._not_before_ms = self._clock.now_ms() + pause_s * 1000
        # While the bot stops there is no next round, and a failing store is told of elsewhere.
        ends = self._workflow.world.ending and isinstance(error, StoreUnavailable)
        tell = log.info if ends else log.error
        tell(
            "The job %s failed (%s), for the %d. time; it is tried again in %d s.",
            self.job.name,
            located(error),
            self._failures,
            pause_s,
        )

    def _tell(self, error: BaseException) -> None:
        """Tell people of what keeps failing; a failing store is told of once for all jobs.

        `known`: people have been told already that the store takes nothing.
        """
        step, why, known = self.job.doing, type(error).__name__, False
        if isinstance(error, StoreUnavailable):
            why, known = str(error), self._troubles.unwritten.words() is not None
            if not isinstance(error, RowAtFault):
                step = _STORE
        self._undone.add(step)
        self._troubles.step_failed(step, why, known=known, whose=self.job.name)


class _Pace(IntervalTrigger):  # type: ignore[misc]
    """An interval that has one round for all rounds that were missed.

    APScheduler counts every missed one by the wall clock. That takes seconds and megabytes after a
    week of sleep, and all memory when a wrong clock is set ten years forward.
    """

    def get_next_fire_time(self, previous: datetime | None, now: datetime) -> datetime:
        """Return when the next round is due, one interval from `now` if that has passed."""
        due: datetime = super().get_next_fire_time(previous, now)
        return due if due > now else now + self.interval


class Scheduler:
    """The interval jobs of one running bot."""

    def __init__(self, jobs: Iterable[Job], workflow: Workflow, clock: Clock) -> None:
        """Take the jobs; nothing runs before `start`."""
        self._rounds = {job.name: Round(job, workflow, clock) for job in jobs}
        self._scheduler = AsyncIOScheduler(
            timezone=UTC,
            job_defaults={"misfire_grace_time": None, "coalesce": True, "max_instances": 1},
        )
        self._began_at_s: dict[str, float] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._watch: asyncio.TimerHandle | None = None
        self._stopping = False
        logging.getLogger("apscheduler").setLevel(logging.ERROR)

    def start(self) -> None:
        """Add every job and begin; a second call changes nothing."""
        self._stopping = False
        for round_ in self._rounds.values():
            self._add(round_)
        if not self._scheduler.running:
            self._scheduler.start()
            self._look_after()

    async def stop(self, grace_s: float) -> None:
        """Begin no further round, and give running ones `grace_s` seconds to end."""
        if self._watch is not None:
            self._watch.cancel()
        if not self._scheduler.running:
            return
        self._scheduler.pause()
        if self._tasks:
            await asyncio.wait(set(self._tasks), timeout=grace_s)
        self._stopping = True
        self._scheduler.shutdown(wait=False)  # cancels, in the next turn, what has not ended
        await asyncio.sleep(0)

    @property
    def running(self) -> bool:
        """True between start and stop."""
        return bool(self._scheduler.running)

    @property
    def names(self) -> list[str]:
        """The names of the jobs that are scheduled."""
        return [job.id for job in self._scheduler.get_jobs()]

    def _add(self, round_: Round) -> None:
        self._scheduler.add_job(
            self._begin,
            _Pace(seconds=round_.job.every_s, timezone=UTC),
            args=(round_.job.name,),
            id=round_.job.name,
            name=round_.job.name,
            replace_existing=True,
        )

    async def _begin(self, name: str) -> None:
        self._began_at_s[name] = asyncio.get_running_loop().time()
        task = asyncio.create_task(self._rounds[name].run(), name=name)
        self._tasks.add(task)
        try:
            await task
        except asyncio.CancelledError:
            if not self._stopping:  # else APScheduler would log the trace of a mere end
                raise
        finally:
            self._tasks.discard(task)

    def _look_after(self) -> None:
        """Schedule anew, and begin, each job that has not begun for too long.

        The scheduler goes by the wall clock. If that were set back an hour, every job would sleep
        for an hour; if it stood still, for ever. The clock of the loop only goes forward.
        """
        loop = asyncio.get_running_loop()
        for name, round_ in self._rounds.items():
            round_.look()
            began_s = self._began_at_s.setdefault(name, loop.time())
            if not round_.running and loop.time() - began_s > round_.job.every_s * 2 + _LATE_S:
                log.warning(
                    "The job %s is late: the process stood still, or the wall clock was set.", name
                )
                self._add(round_)
                self._scheduler.modify_job(name, next_run_time=_LONG_AGO)
        self._watch = loop.call_later(_LATE_S, self._look_after)
