"""Define the jobs, which are what the bot does unasked, at a fixed pace.

Every job asks the store what is due; there is no job for a single proposal. `scheduler.py` runs
`JOBS`.
"""

from __future__ import annotations

from bot.jobs import (
    anchor,
    ask_store,
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
    ask_store.JOB,
)
