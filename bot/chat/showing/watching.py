"""Tells people on the other surfaces when one hears nothing, and keeps all states for `status`."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final, Protocol, runtime_checkable

from bot.chat.cards.spans import moment_words
from bot.chat.hearing.hearing import Trouble, lasting
from bot.surfaces_kept import FLAG
from lifecycle.ports import StoreUnavailable, Transaction
from lifecycle.records import Message
from lifecycle.world import World

_WRITTEN_EVERY_MS: Final = 60_000


@runtime_checkable
class Hears(Protocol):
    """A surface whose connection can go deaf."""

    name: str

    def trouble(self) -> Trouble | None:
        """Return what people on other surfaces should know, None if all is well."""


class Watch:
    """Looks at all surfaces at each round. It tells each trouble once, and once that it is over."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._troubled: dict[str, Trouble] = {}
        self._written: Sequence[str] = ()
        self._written_ms = 0

    async def look(
        self, surfaces: Collection[object], names: Sequence[str], lines: Sequence[str]
    ) -> None:
        """Tell on the surfaces `names` what is new, and keep `lines` in the store.

        Nothing is remembered if the store fails, so that the next round tries again.
        """
        now = {each.name: each.trouble() for each in surfaces if isinstance(each, Hears)}
        told = [m for name, trouble in now.items() for m in self._news(name, trouble, names)]
        now_ms, standing = self._world.clock.now_ms(), [lasting(line) for line in lines]
        troubles = {n: {"since_ms": t.since_ms, "why": t.why} for n, t in now.items() if t}
        # With one surface there is nobody to tell, but `signoff status` must show its trouble.
        same = standing == self._written and troubles.keys() == self._troubled.keys()
        if not told and same and now_ms - self._written_ms < _WRITTEN_EVERY_MS:
            return

        def unit(tx: Transaction) -> None:
            for message in told:
                tx.outbox.add(message)
            kept = {"names": list(names), "lines": list(lines), "troubles": troubles}
            flag = {"at_ms": now_ms, **kept}
            tx.flags.put(FLAG, flag)

        try:
            await self._world.write(unit)
        except StoreUnavailable:
            return
        self._written, self._written_ms = standing, now_ms
        self._troubled = {name: trouble for name, trouble in now.items() if trouble}

    def _news(self, name: str, trouble: Trouble | None, names: Sequence[str]) -> list[Message]:
        before = self._troubled.get(name)
        if trouble is not None and before is None:
            key = f"deaf:{name}:{trouble.since_ms}"
            since = moment_words(trouble.since_ms)
            words = (
                f"⚠️ {name} has heard nothing since {since}: {trouble.why}. "
                "What is decided there counts once it is back; decide here meanwhile."
            )
        elif trouble is None and before is not None:
            key = f"hears:{name}:{before.since_ms}"
            words = f"{name} hears again; what was decided there meanwhile is read now."
        else:
            return []
        return [self._message(key, other, words) for other in names if other != name]

    def _message(self, key: str, surface: str, words: str) -> Message:
        return Message(
            key=f"{key}@{surface}",
            surface=surface,
            recipient="",
            kind="announcement",
            body={"text": words},
            created_at_ms=self._world.clock.now_ms(),
        )
