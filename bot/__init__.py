"""This package surrounds the law in `lifecycle` with the world: it holds config, chat, storage,
jobs, tools, intake and the command line, and implements the ports of the law."""

from __future__ import annotations
