"""Runs the jobs with APScheduler; nothing else imports it.

No job store and no job a proposal: few interval jobs with fixed names ask the store what is due,
so that starting twice, waking late and dying in between all end in the same rounds.
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
from lifecycle.located import located
from lifecycle.ports import Clock, RowAtFault, StoreUnavailable
from lifecycle.rows_met import rows_met
from lifecycle.troubles import Troubles
from lifecycle.workflow import Workflow

LONGEST_PAUSE_S: Final = 60
#: Where one row stood in the way of its own proposal, all others are not to wait long for the next;
#: and whoever waits for a card (`lifecycle.heard_first`) is come back to before that is forgotten.
_LONGEST_FOR_ONE_S: Final = 5
#: Much longer than a round takes that has thousands of proposals before it.
LONGEST_ROUND_S: Final = 600
_LATE_S: Final = 10
#: A job that is due since then is due whatever the wall clock says.
_LONG_AGO: Final = datetime(1970, 1, 1, tzinfo=UTC)
_STORE: Final = "asking the store what is due"

log = logging.getLogger(__name__)


class Round:
    """One job's rounds: a round that fails is logged and the next ones wait, up to a minute."""

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
        """Run one round unless an earlier failure still asks to wait; never raises."""
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
        except Exception as error:
            self._back_off(error)
        finally:
            self.running = False
            if self._hangs:
                self._hangs = False
                self._troubles.step_ended(self.job.doing)

    def look(self) -> None:
        """Let people know of a round that does not end: no other one begins beside it."""
        long = self._clock.now_ms() - self._began_ms >= LONGEST_ROUND_S * 1000
        if self.running and long and not self._hangs:
            self._hangs = True
            self._troubles.step_hangs(self.job.doing, self._began_ms)

    @property
    def _troubles(self) -> Troubles:
        return self._workflow.world.troubles

    def _taken_again(self) -> bool:
        """Say whether the store that took nothing when this failed takes everything again: a stop
        that was kept meanwhile is to wait no longer.

        Not once more where that proved wrong: what fails may be this job's own unit, at a damaged
        page, and people would be told so and given the all-clear at every round.
        """
        trusted = self._unwritten and not self._too_soon
        return trusted and self._troubles.unwritten.since_ms is None

    def _well(self) -> None:
        self._failures, self._too_soon = 0, False
        while self._undone:
            self._troubles.step_mended(self._undone.pop(), self.job.name)

    def _back_off(self, error: Exception) -> None:
        self._failures += 1
        self._tell(error)
        failed = isinstance(error, StoreUnavailable)
        self._unwritten = failed and self._troubles.unwritten.since_ms is not None
        longest_s = _LONGEST_FOR_ONE_S if isinstance(error, RowAtFault) else LONGEST_PAUSE_S
        pause_s = min(longest_s, 2 ** min(self._failures, 10))
        self._not_before_ms = self._clock.now_ms() + pause_s * 1000
        # At the end there is no next round, and that the store takes nothing is told.
        ends = self._workflow.world.stopping and isinstance(error, StoreUnavailable)
        tell = log.info if ends else log.error
        tell(
            "The job %s failed (%s), for the %d. time; it is tried again in %d s.",
            self.job.name,
            located(error),
            self._failures,
            pause_s,
        )

    def _tell(self, error: Exception) -> None:
        """Let people know of what keeps failing: of a store that fails, once for all the jobs.

        Of one that takes nothing they know already.
        """
        step, why, known = self.job.doing, type(error).__name__, False
        if isinstance(error, StoreUnavailable):
            why, known = str(error), self._troubles.unwritten.words() is not None
            if not isinstance(error, RowAtFault):
                step = _STORE
        self._undone.add(step)
        self._troubles.step_failed(step, why, known=known, whose=self.job.name)


class _Pace(IntervalTrigger):  # type: ignore[misc]
    """One round for all that were missed.

    APScheduler counts up every missed one, by the wall clock: that takes seconds and megabytes for
    a week of sleep, and all the memory there is where a wrong clock is set ten years forward.
    """

    def get_next_fire_time(self, previous: datetime | None, now: datetime) -> datetime:
        """Return when the next round is due, a whole pace from `now` where that has passed."""
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
        logging.getLogger("apscheduler").setLevel(logging.ERROR)

    def start(self) -> None:
        """Add every job and begin; starting again changes nothing."""
        for round_ in self._rounds.values():
            self._add(round_)
        if not self._scheduler.running:
            self._scheduler.start()
            self._look_after()

    async def stop(self, grace_s: float) -> None:
        """Begin no further round, and give those that run `grace_s` seconds to end."""
        if self._watch is not None:
            self._watch.cancel()
        if not self._scheduler.running:
            return
        self._scheduler.pause()
        if self._tasks:
            await asyncio.wait(set(self._tasks), timeout=grace_s)
        self._scheduler.shutdown(wait=False)  # cancels what has not ended by now, in the next turn
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
        finally:
            self._tasks.discard(task)

    def _look_after(self) -> None:
        """Schedule anew what has not begun for too long, and begin it.

        The scheduler counts by the wall clock: were that set back an hour, every job would sleep
        for an hour, and for ever were it to stand still. The loop's own clock only goes forward.
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
