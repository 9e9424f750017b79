"""What stands beside a job that is looked at alone: a clock, surfaces, a law."""

from __future__ import annotations

from types import SimpleNamespace


class FakeClock:
    """A clock that is told."""

    def __init__(self) -> None:
        self.ms = 1_772_452_800_000

    def now_ms(self) -> int:
        return self.ms

    async def sleep(self, seconds: float) -> None:
        self.ms += int(seconds * 1000)


class FakeNotifier:
    """Surfaces that count what they are asked."""

    def __init__(self) -> None:
        self.nudges = 0
        self.caught_up = 0

    def nudge(self) -> None:
        self.nudges += 1

    async def catch_up(self) -> None:
        self.caught_up += 1


class FakeWorkflow:
    """A workflow that notes which of its duties were called."""

    def __init__(self) -> None:
        self.called: list[str] = []
        self.world = SimpleNamespace(notifier=FakeNotifier())

    def __getattr__(self, name: str):
        async def duty() -> None:
            self.called.append(name)

        return duty
