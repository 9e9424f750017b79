"""Only this module uses the package `transitions`: one checked table, no model, no callback."""

from __future__ import annotations

from functools import cache

from transitions import Machine, MachineError

from lifecycle.errors import IllegalTransition
from lifecycle.state import TRANSITIONS, State, Trigger
from lifecycle.tier import Puller, Tier, pullers


class _Cursor:
    """What the machine moves: it holds a state and nothing else, so that nothing is kept alive."""

    __slots__ = ("state",)

    def __init__(self, state: State) -> None:
        self.state = state.value


_MACHINE = Machine(
    model=None,
    states=[state.value for state in State],
    transitions=[
        {"trigger": row.trigger.value, "source": row.source.value, "dest": row.target.value}
        for row in TRANSITIONS
    ],
    initial=None,
    auto_transitions=False,
)


@cache
def next_state(state: State, trigger: Trigger) -> State:
    """Return where `trigger` leads from `state`; the machine is asked once for each move.

    Raises IllegalTransition for the twenty-four of thirty pairs that the table does not hold.
    """
    cursor = _Cursor(state)
    try:
        moved = _MACHINE.events[trigger.value].trigger(cursor)
    except MachineError:
        moved = False
    if not moved:
        raise IllegalTransition(f"A proposal that is {state} cannot {trigger}.")
    return State(cursor.state)


def checked_move(state: State, trigger: Trigger, tier: Tier, puller: Puller) -> State:
    """Return the next state if the table and the tier both allow `puller` this move.

    Raises IllegalTransition otherwise.
    """
    target = next_state(state, trigger)
    if puller not in pullers(tier, state, trigger):
        raise IllegalTransition(f"At tier {tier} the {puller} may not {trigger} what is {state}.")
    return target
