"""A surface for tests: keeps what it showed and said, and fails when told to."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from bot.chat.cards.content import CardContent
from bot.chat.surface import CardGone, Posted, SurfaceFailed
from lifecycle.records import Card, Message


class FakeSurface:
    """`failures` are raised one by one before anything succeeds; `gone` cards were deleted."""

    def __init__(self, name: str = "discord", *, full: bool = True) -> None:
        self.name = name
        self.full = full
        self.failures: list[SurfaceFailed] = []
        self.gone: set[str] = set()
        self.posted: list[tuple[str, CardContent, str]] = []
        self.edited: list[tuple[str, CardContent]] = []
        self.said: list[Message] = []
        self.readable = True
        self.members: dict[str, bool | None] = {}

    async def post_card(self, content: CardContent, claim: str) -> Posted:
        self._fail()
        message_id = f"m{len(self.posted) + 1}"
        self.posted.append((message_id, content, claim))
        return Posted(message_id, self.full)

    async def edit_card(self, content: CardContent, card: Card) -> Posted:
        self._fail()
        message_id = card.message_ids[-1]
        if message_id in self.gone:
            raise CardGone("unknown message")
        self.edited.append((message_id, content))
        return Posted(message_id, self.full)

    async def say(self, message: Message) -> str | None:
        self._fail()
        self.said.append(message)
        return f"said-{len(self.said)}"

    async def read_card(self, card: Card) -> bool:
        if not self.readable:
            raise SurfaceFailed("not connected")
        return True

    async def catch_up(self) -> int:
        return 2

    async def membership(self, people: Iterable[str]) -> Mapping[str, bool | None]:
        return {person: self.members[person] for person in people if person in self.members}

    def health(self) -> Sequence[str]:
        return (f"{self.name}: connected",)

    def _fail(self) -> None:
        if self.failures:
            raise self.failures.pop(0)
