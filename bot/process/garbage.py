"""Sets the garbage collector so that it does not scan what was loaded at the start each time."""

from __future__ import annotations

import gc
from typing import Final

#: The thresholds of `gc.set_threshold`: the youngest objects are scanned after so many new ones,
#: the older ones after so many such rounds. Python's default of 700 is less than a few moves have
#: in use, and a move leaves no garbage. A closed connection leaves some twenty objects of garbage,
#: and its last bytes stay with them until they are collected.
_ROUNDS: Final = (5_000, 5, 5)


#: While modules are loaded nearly nothing becomes garbage.
_LOADING: Final = (50_000, 20, 20)


def load_undisturbed() -> None:
    """Let the garbage collector run seldom while a command loads what it needs.

    It took a twentieth of the time in which a command starts. A bot sets it anew once it runs.
    """
    gc.set_threshold(*_LOADING)


def spare_what_is_loaded() -> None:
    """Exclude all present objects from garbage collection, and let it run less often.

    Call it once everything is set up. Modules, models and rules are a quarter of a million objects
    that live as long as the process; scanning them took a tenth of the time of every move.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(*_ROUNDS)
