"""This package surrounds the law in `lifecycle` with the world: it holds config, chat, storage,
jobs, tools, intake and the command line, and implements the ports of the law.

`bootstrap` puts a bot together and `running` runs it. `process` has what it needs of its own
process and of the system, `clocks` of the machine's time; `client` is for agents, `bench` measures.
"""

from __future__ import annotations
