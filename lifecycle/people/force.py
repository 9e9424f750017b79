"""An act has one of three forces, which says what stands still while the act is on its way."""

from __future__ import annotations

from enum import Enum
from typing import assert_never


class Force(Enum):
    """What an act does to its proposal beside its own unit.

    - STOPS (a ❌, `reject`, `roll-back`): from the moment it is heard nothing of the proposal is
      made final. It is spooled if the store cannot take it, and waits for nobody's membership.
    - TAKES_BACK (a ✅ taken off, `withdraw`): nothing begins meanwhile, but what executes already
      goes on.
    - GOES_ON (approvals, `retry`, `settle`, reasons): nothing stands still, and what the act opened
      begins at once.
    """

    STOPS = "stops"
    TAKES_BACK = "takes_back"
    GOES_ON = "goes_on"

    @property
    def holds(self) -> bool:
        """True if the proposal is held while the act is on its way. Nothing is begun behind such an
        act: the beginning would be told to wait for the act itself."""
        match self:
            case Force.STOPS | Force.TAKES_BACK:
                return True
            case Force.GOES_ON:
                return False
            case _:
                assert_never(self)
