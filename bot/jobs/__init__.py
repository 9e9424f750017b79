"""What the bot does unasked: every job asks the store what is due; none belongs to a proposal."""

from __future__ import annotations

from bot.jobs import (
    anchor,
    catch_up,
    close_windows,
    deliver,
    expire,
    open_ready,
    recheck,
    recover,
    remind,
    tell_clock,
)

JOBS = (
    catch_up.JOB,
    close_windows.JOB,
    expire.JOB,
    open_ready.JOB,
    recover.JOB,
    recheck.JOB,
    remind.JOB,
    deliver.JOB,
    anchor.JOB,
    tell_clock.JOB,
)
