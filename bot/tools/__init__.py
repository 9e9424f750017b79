"""This package holds the tools: how each kind acts on the world and takes that back again.

`toolbox.py` makes the configured tools. `command.py`, `email.py`, `python.py`, `webhook.py` and
`uncallable.py` each hold one kind; the other modules are parts of these, except `copies.py` and
`leftovers.py`, which `bot/bootstrap.py` calls at a start. `lifecycle/calls/calling.py` awaits the
verbs of every tool on the event loop. "The pool" means the default executor of that loop
(`bot/process/pool.py`).
"""

from __future__ import annotations
