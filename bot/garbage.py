"""The garbage collector: what was loaded at the start stays, and is not gone through each time."""

from __future__ import annotations

import gc
from typing import Final

#: After how many new objects the youngest are gone through, and after how many such rounds the
#: older ones. Python's own 700 are fewer than a few moves have under way, and a move leaves no
#: garbage; a closed connection leaves some twenty objects, and its last bytes wait with them.
_ROUNDS: Final = (5_000, 5, 5)


def spare_what_is_loaded() -> None:
    """Take what is in use out of the garbage collector's rounds, and let these come more seldom;
    call it once all is set up.

    Modules, models and rules are a quarter of a million objects that live as long as the process:
    going through them took a tenth of the time of every move.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(*_ROUNDS)
