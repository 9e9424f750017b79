"""Keeps, and names in the log, the stops that the store has not taken when the bot ends."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from lifecycle.people.acts import Act
from lifecycle.stops.spooling import Spooled, is_freeze, log, said_of
from lifecycle.stops.unspooled import spool_again
from lifecycle.text.masking import mask_text
from lifecycle.world import World

_SHOWN_ID: Final = 64


def cut_off(spooled: Spooled, act: Act, *, freezes: bool = False) -> None:
    """Keep a stop that the store has not answered when the bot ends, as on a disk that hangs.

    The stop is only put in line for the spool (`World.unspooled`); `tell_of_lost_stops` writes it.
    It is logged at once, because the spool may be on the same disk. `act` tells when the stop was
    given. If the store has taken it after all, it refuses it as repeated after the next start.
    """
    stop = spooled.line(act, freezes=freezes)
    spooled.world.unspooled.append(stop)
    log.error(
        "the store had not confirmed %s when the bot ended: see after the next start whether it "
        "counts, and give it again if not",
        _named(stop),
    )


def tell_of_lost_stops(world: World) -> None:
    """Write the stops that only memory holds to the spool; log those for which that fails as lost.

    Call it after the last `Workflow.shut_down`, when nothing is left that could carry them out.
    """
    spool_again(world)
    for stop in world.unspooled:
        world.troubles.say_once(
            f"{_named(stop)} could be written nowhere and is lost with this process: give it again "
            "after the next start"
        )


def _named(stop: Mapping[str, Any]) -> str:
    of = "the freeze" if is_freeze(stop) else f"the stop of {said_of(stop)[:_SHOWN_ID]!r}"
    by = f"{stop['kind']} {stop['id']}" if stop["id"] else repr(stop["account"])
    return mask_text(f"{of} by {by}")
