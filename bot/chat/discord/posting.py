"""Posts and edits a card in its message: whole, without its file, or in the shortest form.

Twin: `slack/posting.py`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, replace
from typing import Final

from bot.chat.cards.content import CardContent
from bot.chat.discord.render import Rendered, render, short_card
from bot.chat.discord.rest import Outgoing, Rest
from bot.chat.discord.views import buttons
from bot.chat.surface import Posted, SurfaceFailed

_LARGE: Final = 4_000


@dataclass(frozen=True, slots=True)
class _Form:
    """One form of a card; `full` says that the whole of every value can be seen in it."""

    rendered: Rendered
    with_file: bool = True

    @property
    def full(self) -> bool:
        return self.with_file or self.rendered.attachment is None

    def outgoing(self, content: CardContent) -> Outgoing:
        """Return the message, built anew each time: a file object can be sent only once."""
        file = self.rendered.file() if self.with_file else None
        return Outgoing(embed=self.rendered.embed, view=buttons(content.react), file=file)


class Posting:
    """Posts and edits cards. If Discord refuses a form for good, the next shorter form is tried.

    That holds for edits as well: a card that cannot be edited would show an old state for ever.
    """

    def __init__(self, rest: Rest) -> None:
        self._rest = rest

    async def post(self, content: CardContent, claim: str, call: int | None) -> Posted:
        """Post a card; the same claim again posts nothing new. Raises SurfaceFailed."""
        message_ids: list[int] = []

        async def put(message: Outgoing) -> None:
            text = f"<@&{call}>" if call is not None else None
            message_ids.append(
                await self._rest.send(replace(message, text=text, calls=call, nonce=claim))
            )

        full = await _as_it_can(content, put)
        return self._stands(message_ids[-1], full)

    async def edit(self, message_id: int, content: CardContent) -> Posted:
        """Render a card anew in its message. Raises CardGone, SurfaceFailed."""
        full = await _as_it_can(content, lambda each: self._rest.edit(message_id, each))
        return self._stands(message_id, full)

    def _stands(self, message_id: int, full: bool) -> Posted:
        return Posted(str(message_id), full, str(self._rest.settings.channel))


async def _as_it_can(content: CardContent, put: Callable[[Outgoing], Awaitable[None]]) -> bool:
    """Send the first form that Discord accepts; return True if every value can be seen whole."""
    refused: list[SurfaceFailed] = []
    rendered = await _rendered(content)
    for form in _forms(content, rendered):
        try:
            await put(form.outgoing(content))
        except SurfaceFailed as failure:
            if not failure.lasting:
                raise
            refused.append(failure)
        else:
            return form.full
    raise refused[0]


def _forms(content: CardContent, rendered: Rendered) -> Iterator[_Form]:
    yield _Form(rendered)
    if rendered.attachment is not None:
        yield _Form(rendered, with_file=False)
    yield _Form(short_card(content))


async def _rendered(content: CardContent) -> Rendered:
    """Render a card; a large one in a thread, so that nothing else waits for it."""
    size = sum(len(each.text) for each in (*content.facts, *content.written))
    if size < _LARGE:
        return render(content)
    return await asyncio.to_thread(render, content)
