"""Writes the stops that are in memory alone to the spool, as soon as the spool can be written."""

from __future__ import annotations

from lifecycle.world import World


def spool_again(world: World) -> None:
    """Write the stops to the spool that neither the store nor the spool could take before.

    They are first handed over in one write: a disk that hangs as the process ends may answer a
    single write or none, and what was handed to the system outlives the process. If they do not all
    fit, they are written one by one, the oldest first, until one fails.
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
