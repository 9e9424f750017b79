"""This module says how long both stores remember events and uses of tools."""

from __future__ import annotations

from typing import Final

#: How long events of platforms and uses of tools are remembered, in ms.
REMEMBERED_MS: Final = 86_400_000
