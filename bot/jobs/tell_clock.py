"""Tell people once a day if the machine's clock differs from the clock of the bot or its trail."""

from __future__ import annotations

import logging
from typing import Final

from bot.clocks.strayed import clock_strayed
from bot.clocks.told import clock_behind
from bot.jobs.job import Job
from lifecycle.announcing import announce
from lifecycle.ports import Transaction
from lifecycle.workflow import Workflow

_FLAG: Final = "clock_told"

log = logging.getLogger("signoff")


async def run_once(workflow: Workflow) -> None:
    """Announce a wrong clock unless that was done today."""
    world = workflow.world
    moment = world.moment()
    strayed = clock_strayed(world.clock)
    words = strayed or await world.store.read(lambda tx: clock_behind(tx, moment.now_ms))
    if words is None:
        return
    key = f"clock:{'strayed' if strayed else 'behind'}:{moment.now_ms // 86_400_000}"
    told = await world.store.read(lambda tx: tx.flags.get(_FLAG))
    if told == key:
        return
    log.warning("%s", words)

    def unit(tx: Transaction) -> None:
        tx.flags.put(_FLAG, key)
        # The time is in the key, too: the day may come twice if the clock is set in between.
        announce(tx, moment, f"{key}:{moment.now_ms}", words)

    await world.write(unit)


JOB = Job("tell_clock", "looking at the machine's clock", every_s=60, run_once=run_once)
