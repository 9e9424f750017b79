"""Runs the commands by which people and agents decide about one proposal or question."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

from bot import views
from bot.chat.commands.replies import CommandReply
from bot.chat.commands.typed import STOPS, bare_id, split_id
from bot.chat.commands.usage import only_id, usage
from lifecycle.answers import Reply, Sender
from lifecycle.errors import AmbiguousId, ProposalNotFound
from lifecycle.ports import StoreUnavailable
from lifecycle.text.masking import harmless
from lifecycle.workflow import Workflow

#: How many seconds looking up an id may take. A disk may hang while the bot ends, and a stop can be
#: kept only once it was handed to the law.
_READ_S: Final = 2.0


class Deciding:
    """Hands decisions to the law, each named by a proposal's whole id. The law judges who may."""

    def __init__(self, workflow: Workflow) -> None:
        self.workflow = workflow

    async def approve(self, rest: str, sender: Sender) -> CommandReply:
        """Approve, as a ✅ does."""
        return await self._decided("approve", rest, sender, self.workflow.approve)

    async def reject(self, rest: str, sender: Sender) -> CommandReply:
        """Reject, as a ❌ does."""
        return await self._decided("reject", rest, sender, self.workflow.reject)

    async def roll_back(self, rest: str, sender: Sender) -> CommandReply:
        """Roll back what was done, while the window is open."""
        return await self._decided("roll-back", rest, sender, self.workflow.roll_back)

    async def withdraw(self, rest: str, sender: Sender) -> CommandReply:
        """Take back a proposal of one's own."""
        return await self._done("withdraw", rest, sender, self.workflow.withdraw)

    async def settle(self, rest: str, sender: Sender) -> CommandReply:
        """Write down what became of a call whose outcome is unknown."""
        given, word = split_id(rest)
        happened = {"happened": True, "did-not-happen": False}.get(word.lower())
        if not given or happened is None:
            return await self._miswritten("settle", rest, sender)
        return await self._on_whole_id(given, sender) or CommandReply.of(
            await self.workflow.settle(given, sender, happened)
        )

    async def retry(self, rest: str, sender: Sender) -> CommandReply:
        """Have a failed step tried again."""
        return await self._done("retry", rest, sender, self.workflow.retry)

    async def answer(self, rest: str, sender: Sender) -> CommandReply:
        """Answer the question of a refinement plan."""
        given, words = split_id(rest)
        if not given or not words:
            return await self._miswritten("answer", rest, sender)
        return CommandReply.of(await self.workflow.answer_question(given, sender, words))

    async def _done(
        self,
        command: str,
        rest: str,
        sender: Sender,
        do: Callable[[str, Sender], Awaitable[Reply]],
    ) -> CommandReply:
        """Carry out a command that takes a proposal's id and nothing else."""
        given = only_id(rest)
        if given is None:
            return await self._miswritten(command, rest, sender)
        return await self._on_whole_id(given, sender) or CommandReply.of(await do(given, sender))

    async def _decided(
        self,
        command: str,
        rest: str,
        sender: Sender,
        decide: Callable[[str, Sender, str], Awaitable[Reply]],
    ) -> CommandReply:
        """Carry out a decision; any but an approval must have a reason."""
        given, reason = split_id(rest)
        if not given:
            return await self._miswritten(command, rest, sender)
        if not reason and command != "approve":
            await self.workflow.note_ignored(given, sender, "reason_required")
            words = f"Say why: {command} {harmless(given[:64])} <reason>"
            return CommandReply.words(words, code="reason_required")
        given = bare_id(given) if command in STOPS else given
        return await self._on_whole_id(given, sender) or CommandReply.of(
            await decide(given, sender, reason)
        )

    async def _miswritten(self, command: str, rest: str, sender: Sender) -> CommandReply:
        """Write the entry of a command that is written wrongly, and answer how it is written."""
        await self.workflow.note_ignored(split_id(rest)[0], sender, "unknown_command")
        return usage(command)

    async def _on_whole_id(self, given: str, sender: Sender) -> CommandReply | None:
        """Refuse and audit a part of an id; return None if the act may go on.

        An unknown id goes on, for the law to refuse. If the store cannot be read, or does not
        answer, the act goes on as well: a stop is kept all the same.
        """
        try:
            async with asyncio.timeout(_READ_S):
                await self.workflow.world.store.read(lambda tx: views.exactly(tx, given))
        except (ProposalNotFound, StoreUnavailable, TimeoutError):
            return None
        except AmbiguousId as error:
            await self.workflow.note_ignored(given, sender, error.code)
            return CommandReply.words(str(error), code=error.code)
        return None
