"""Writes to the spool, as soon as it can be written, the stops that are in memory alone."""

from __future__ import annotations

from lifecycle.world import World


def spool_again(world: World) -> None:
    """Write to the spool the stops that neither the store nor the spool could take before.

    All at once first: a disk that hangs as the process ends may answer to one write alone, or to
    none, and what was handed to the system outlives the process. If not all fit, as many as do.
    """
    try:
        world.spool.keep_all(world.unspooled)
        world.unspooled.clear()
    except OSError:
        _one_by_one(world)


def _one_by_one(world: World) -> None:
    while world.unspooled:
        try:
            world.spool.keep(world.unspooled[0])
        except OSError:
            return
        del world.unspooled[0]
