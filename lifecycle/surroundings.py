"""What stands around the law: the ports, and whether the bot still takes work."""

from __future__ import annotations

from dataclasses import dataclass

from lifecycle.ports import Clock, Notifier, ProposalStore, Spool, Toolbox


@dataclass(slots=True, kw_only=True)
class Surroundings:
    """The ports, bundled; `stopping` once nothing new begins.

    Whoever works with a port asks for it here each time: a port may be put in another's place.
    """

    store: ProposalStore
    clock: Clock
    notifier: Notifier
    toolbox: Toolbox
    spool: Spool
    stopping: bool = False
