"""Runs the commands of design section 8, given as text, with the same words on every surface."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Final

from bot.chat.commands.deciding import Deciding
from bot.chat.commands.help import COMMANDS
from bot.chat.commands.looking import Looking
from bot.chat.commands.replies import Attached, CommandReply
from bot.chat.commands.typed import (
    BLANK,
    LET_GO,
    as_bytes,
    document_bytes,
    inline_json,
    split_id,
    turns_its_id,
    typed,
)
from bot.chat.commands.usage import usage
from lifecycle.answers import Answer, Sender
from lifecycle.errors import GovernanceError, Refused
from lifecycle.nearest import meant
from lifecycle.ports import RowUnreadable, StoreUnavailable
from lifecycle.text.masking import mask_text
from lifecycle.workflow import Workflow

_Run = Callable[[str, Sender], Awaitable[CommandReply]]


def _nothing_to_add() -> tuple[str, ...]:
    return ()


class Commands:
    """Interprets what people and agents type. The law judges; nothing is decided here.

    `health` returns lines about the surfaces for `status`; `summaries` maps each rule to its law in
    one sentence.
    """

    def __init__(
        self,
        workflow: Workflow,
        *,
        health: Callable[[], Sequence[str]] = _nothing_to_add,
        summaries: Mapping[str, str] | None = None,
    ) -> None:
        looking = Looking(workflow, health, summaries or {})
        deciding = Deciding(workflow)
        self.workflow = workflow
        self._runs: Final[Mapping[str, _Run]] = {
            "pending": looking.pending,
            "show": looking.show,
            "explain": looking.explain,
            "audit": looking.audit,
            "approve": deciding.approve,
            "reject": deciding.reject,
            "roll-back": deciding.roll_back,
            "withdraw": deciding.withdraw,
            "settle": deciding.settle,
            "retry": deciding.retry,
            "answer": deciding.answer,
            "evidence": self._evidence,
            "freeze": self._freeze,
            "thaw": self._thaw,
            "tools": looking.tools,
            "rules": looking.rules,
            "policy": looking.policy,
            "status": looking.status,
            "help": looking.help,
        }

    async def run(
        self, text: str, sender: Sender, attached: Sequence[Attached] = ()
    ) -> CommandReply:
        """Carry out one command, given exactly as typed; never raises for what somebody typed.

        Raises SurfaceFailed only if an attached file may be fetched later.
        """
        word, rest = typed(text)
        try:
            if word == "propose":
                return await self.propose(rest, sender, attached)
            run = self._runs.get(word)
            if run is None:
                return await self._unknown(word, sender)
            if word in LET_GO and turns_its_id(text):
                return await self._turned(rest, sender)
            return await run(rest, sender)
        except GovernanceError as error:
            return CommandReply.words(str(error), code=error.code)
        except RowUnreadable as error:
            return CommandReply.words(f"{error} Tell an operator.", code="digest_mismatch")
        except StoreUnavailable:
            # It may have failed after something was written, when the answer was to be read.
            return CommandReply.words(
                "The store cannot be read or written now. Tell an operator; if this was to change "
                "something, look what became of it before you try again.",
                code="audit_unavailable",
            )

    async def propose(
        self, rest: str, sender: Sender, attached: Sequence[Attached] = ()
    ) -> CommandReply:
        """Submit the one JSON object in text and files; the answer is one JSON object too."""
        if sender.identity is None:
            return _answered(await self.workflow.submit(as_bytes(rest), sender))
        try:
            raw = await document_bytes(rest, attached)
        except Refused as error:
            return _answered(await self.workflow.intake.refused(error, sender, b""))
        return _answered(await self.workflow.submit(raw, sender))

    async def propose_bytes(self, raw: bytes, sender: Sender) -> CommandReply:
        """Submit a document whose bytes were read already."""
        return _answered(await self.workflow.submit(raw, sender))

    # -- sources and operators --------------------------------------------------------------

    async def _evidence(self, rest: str, sender: Sender) -> CommandReply:
        raw = as_bytes(inline_json(rest))
        return CommandReply.of(await self.workflow.record_evidence(raw, sender))

    async def _freeze(self, rest: str, sender: Sender) -> CommandReply:
        return CommandReply.of(await self.workflow.freeze(rest.strip(), sender))

    async def _thaw(self, rest: str, sender: Sender) -> CommandReply:
        if rest.strip(BLANK):
            await self.workflow.note_ignored("", sender, "unknown_command")
            return usage("thaw")
        return CommandReply.of(await self.workflow.thaw(sender))

    async def _unknown(self, word: str, sender: Sender) -> CommandReply:
        await self.workflow.note_ignored("", sender, "unknown_command")
        named = f"There is no command {mask_text(word)!r}." if word else "Here is no command."
        return CommandReply.words(
            f"{named}{meant(word, COMMANDS)} All of them: help", code="unknown_command"
        )

    async def _turned(self, rest: str, sender: Sender) -> CommandReply:
        await self.workflow.note_ignored(split_id(rest)[0], sender, "unknown_command")
        return CommandReply.words(
            "An invisible sign before the id turns it around, so that another id may be read there "
            "than is named. Nothing was changed; type the command by hand.",
            code="unknown_command",
        )


def _answered(answer: Answer) -> CommandReply:
    return CommandReply(document=answer.as_json(), code=answer.reason)
