"""A spool in memory, for tests of the law."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass
class MemorySpool:
    """Keeps stops in a list."""

    stops: list[Mapping[str, Any]] = field(default_factory=list)

    def keep(self, stop: Mapping[str, Any]) -> None:
        self.stops.append(stop)

    def keep_all(self, stops: Sequence[Mapping[str, Any]]) -> None:
        for stop in stops:
            self.keep(stop)

    def kept(self) -> Sequence[Mapping[str, Any]]:
        return list(self.stops)

    def forget(self, stops: Collection[Mapping[str, Any]]) -> None:
        self.stops = [stop for stop in self.stops if stop not in stops]
