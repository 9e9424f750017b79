"""Tools: what acts on the world and how it takes it back, one kind a file."""

from __future__ import annotations
