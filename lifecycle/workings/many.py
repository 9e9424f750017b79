"""Does work on many proposals one after the other, so that a fault of one stops no other."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from functools import partial
from typing import Any, TypeVar

from lifecycle.located import located
from lifecycle.ports import RowAtFault, RowUnreadable, StoreUnavailable, Transaction
from lifecycle.workings.rows_met import note_row
from lifecycle.workings.troubles import Troubles
from lifecycle.workings.units import Units

T = TypeVar("T")
#: A unit about some proposals, by their ids; it counts those that it changed.
CountingUnit = Callable[[Transaction, Sequence[str]], int]


class Many:
    """Does work on many proposals; the log is told once of each that was left as it is."""

    def __init__(self, units: Units, troubles: Troubles) -> None:
        """Write by `units`, and log by `troubles`."""
        self._units = units
        self._troubles = troubles

    async def write(self, proposal_ids: Sequence[str], unit: CountingUnit) -> int:
        """Run one unit for all of these, or one for each if the first fails for a fault of one;
        return the sum of what they counted. Raises StoreUnavailable if the store itself fails."""
        if not proposal_ids:
            return 0
        why = ""
        try:
            return await self._units.write(lambda tx: unit(tx, proposal_ids))
        except StoreUnavailable as error:
            if not isinstance(error, RowAtFault):
                raise
        except Exception as error:  # such as a value in one row that cannot be computed with
            why = located(error)
        counts = [
            await self.beside(each, self._units.write(partial(_of_one, unit, each)))
            for each in proposal_ids
        ]
        if why and None not in counts:  # each alone went well: no row is at fault
            self._troubles.say_once(f"Together they failed, and each was done by itself: {why}")
        return sum(count or 0 for count in counts)

    async def beside(self, proposal_id: str, work: Coroutine[Any, Any, T]) -> T | None:
        """Do one of many works; return None if it failed by a fault of its own, which is logged.

        Raises StoreUnavailable if the store fails, because it then fails for all of them.
        """
        try:
            return await work
        except RowAtFault as error:
            self._left(proposal_id, str(error))
            if not isinstance(error, RowUnreadable):
                note_row(error)  # whoever ran all of this is told: no other sign of it remains
        except StoreUnavailable:
            raise
        except Exception as error:
            self._left(proposal_id, f"{located(error)}: an operator must look at it.")
        return None

    def _left(self, proposal_id: str, why: str) -> None:
        self._troubles.say_once(f"{proposal_id} was left as it is: {why}")


def _of_one(unit: CountingUnit, each: str, tx: Transaction) -> int:
    return unit(tx, [each])
