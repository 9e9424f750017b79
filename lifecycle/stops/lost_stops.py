"""Tells of stops that neither the store nor the spool has taken when the bot ends."""

from __future__ import annotations

from typing import Final

from lifecycle.stops.spooling import is_freeze, said_of, spool_again
from lifecycle.text.masking import mask_text
from lifecycle.world import World

_SHOWN_ID: Final = 64


def tell_of_lost_stops(world: World) -> None:
    """Log which stops are lost with this process, because they are in its memory alone.

    Call it after the last `Workflow.shut_down`, when nothing is left that could carry them out.
    """
    spool_again(world)
    for stop in world.unspooled:
        of = "the freeze" if is_freeze(stop) else f"the stop of {said_of(stop)[:_SHOWN_ID]!r}"
        by = f"{stop['kind']} {stop['id']}" if stop["id"] else repr(stop["account"])
        world.troubles.say_once(
            mask_text(
                f"{of} by {by} could be written nowhere and is lost with this process: give it "
                "again after the next start"
            )
        )
