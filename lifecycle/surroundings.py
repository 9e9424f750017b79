"""The surroundings of the law are its ports, and whether the bot still takes work."""

from __future__ import annotations

from dataclasses import dataclass

from lifecycle.ports import Clock, Notifier, ProposalStore, Spool, Toolbox


@dataclass(slots=True, kw_only=True)
class Surroundings:
    """The ports, bundled; `ending` is set once nothing new may begin.

    Whoever uses a port asks for it here each time, because a port may be replaced by another.
    """

    store: ProposalStore
    clock: Clock
    notifier: Notifier
    toolbox: Toolbox
    spool: Spool
    ending: bool = False
