"""How long every store remembers what it was told once."""

from __future__ import annotations

from typing import Final

#: How long events of platforms and uses of tools are remembered, in ms.
REMEMBERED_MS: Final = 86_400_000
