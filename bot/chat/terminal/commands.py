"""Runs one line of the terminal: finds who speaks and which file is meant, and answers."""

from __future__ import annotations

import asyncio
import re
import stat
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Final

from bot.chat.commands.commands import Commands
from bot.chat.commands.replies import CommandReply
from bot.chat.commands.typed import HEARD_UNSTORED, as_bytes, begun_id, typed
from bot.chat.hearing.others import Elsewhere
from bot.chat.terminal.documents import Said
from bot.chat.terminal.elsewhere import placed
from bot.chat.terminal.speakers import SURFACE, Spoken, spoken
from bot.chat.terminal.unclosed import TAKE_DOCUMENTS, says_nothing, text_of
from bot.composing import composed
from lifecycle.answers import Reply, Sender
from lifecycle.errors import Fault, Refused
from lifecycle.first_gate.reading import DOCUMENT_LIMIT_BYTES, announced_size_refused
from lifecycle.ports import StoreUnavailable
from lifecycle.text.masking import mask_text

_NOT_CLOSED: Final = Fault(
    "malformed_json",
    required="one JSON object",
    actual="a document that is not closed",
    suggestion="It is not closed, so nothing behind it was read as a command. Write it in one "
    "line, or between ``` and ```, or put it into a file: propose @file.json",
)
#: A word that ends in .json and cannot be a document: a path without its @ may be meant.
_A_FILE: Final = re.compile(r"\s*([^\s{}\[\]\"'`@]+\.json)\s*")


class TerminalCommands:
    """Runs lines. `folders` are where a relative `@path` is looked for, in this order."""

    def __init__(
        self, commands: Commands, folders: tuple[Path, ...], new_id: Callable[[], str]
    ) -> None:
        self._commands = commands
        self._elsewhere = Elsewhere(commands.workflow, SURFACE)
        self._folders = folders
        self._new_id = new_id

    async def run(self, command: Said) -> CommandReply | None:
        """Return the answer to one command; None for an empty line and for a comment (`#`)."""
        text = text_of(command.line)
        if says_nothing(text):
            return None
        said = spoken(text, self._commands.workflow.policy)
        if said.objection is not None:
            return await self._objected(said)
        word, rest = typed(said.text)
        if not command.closed:
            return await self._not_closed(word, rest, said.sender)
        if word in TAKE_DOCUMENTS and rest.lstrip().startswith("@"):
            return await self._from_file(word, rest.strip().removeprefix("@"), said.sender)
        if word in TAKE_DOCUMENTS and (found := _A_FILE.fullmatch(rest)):
            error = Refused([_without_sign(found[1])])
            return await self._refused(word, error, said.sender, as_bytes(rest))
        if not _is_utf8(command.line) and word in HEARD_UNSTORED:
            said = said._replace(text=_readable(said.text))  # a stop counts whatever bytes it has
        elif not _is_utf8(command.line) and word not in TAKE_DOCUMENTS:
            return CommandReply.words(
                "This line is not UTF-8: set the terminal or the file to UTF-8.",
                code="invalid_unicode",
            )
        heard_ms = self._commands.workflow.world.clock.now_ms()
        await self._heard_before(said.text)
        sender = replace(said.sender, event_id=command.event_id, heard_at_ms=heard_ms)
        return placed(await self._commands.run(said.text, sender), said.text)

    async def _heard_before(self, text: str) -> None:
        """Hear every ❌ on other surfaces before a command lets something begin, for a time."""
        proposal_id = begun_id(text)
        if proposal_id is not None:
            with suppress(StoreUnavailable):  # then the law refuses the command, and says why
                await self._elsewhere.heard_in_time(proposal_id)

    async def _objected(self, said: Spoken) -> CommandReply:
        """Answer whoever may not speak here; the law refuses and audits their proposal."""
        word, rest = typed(said.text)
        if word == "propose":
            return await self._commands.propose(rest, said.sender)
        await self._commands.workflow.note_ignored("", said.sender, "unknown_agent")
        return CommandReply.words(said.objection or "", code="unknown_agent")

    async def _not_closed(self, word: str, rest: str, sender: Sender) -> CommandReply:
        """Refuse a document that is not closed: nobody knows what was meant behind it."""
        return await self._refused(word, Refused([_NOT_CLOSED]), sender, as_bytes(rest))

    async def _refused(self, word: str, error: Refused, sender: Sender, raw: bytes) -> CommandReply:
        """Refuse a document: JSON for whoever proposes, words for whoever hands in evidence."""
        answer = await self._commands.workflow.intake.refused(error, sender, raw)
        if word == "propose":
            return CommandReply(document=answer.as_json(), code=answer.reason)
        return CommandReply.of(Reply.of_error(error))

    async def _from_file(self, word: str, name: str, sender: Sender) -> CommandReply:
        try:
            raw = self._read(name)
        except Refused as error:
            return await self._refused(word, error, sender, b"")
        now_ms = self._commands.workflow.world.clock.now_ms()
        # In a thread: a document at the limit takes a while, and all surfaces share the loop.
        document = await asyncio.to_thread(composed, raw, Path(name).stem, now_ms, self._new_id)
        if word == "propose":
            return await self._commands.propose_bytes(document, sender)
        reply = await self._commands.workflow.record_evidence(document, sender)
        return CommandReply.of(reply)

    def _read(self, name: str) -> bytes:
        """Return a regular file's bytes; its size is checked first. Raises Refused."""
        path = self._found(name)
        try:
            announced_size_refused(path.stat().st_size)
            with path.open("rb") as file:
                raw = file.read(DOCUMENT_LIMIT_BYTES + 1)
        except OSError as error:
            raise Refused([_unreadable(name, error)]) from error
        announced_size_refused(len(raw))
        return raw

    def _found(self, name: str) -> Path:
        hidden: OSError | None = None
        for folder in self._folders:
            try:
                path = folder / Path(name).expanduser()
                if stat.S_ISREG(path.stat().st_mode):
                    return path
            except PermissionError as error:
                hidden = error
            except (OSError, RuntimeError, ValueError):  # the second for ~nobody
                continue
        raise Refused([_no_file(name) if hidden is None else _unreadable(name, hidden)])


def _without_sign(name: str) -> Fault:
    return Fault(
        "malformed_json",
        required="one JSON object",
        actual="the name of a file",
        suggestion=f"A file is read where @ stands before its name: @{mask_text(name)[:200]}",
    )


def _no_file(name: str) -> Fault:
    shown = mask_text(name)[:200]
    return Fault(
        "malformed_json",
        required="a file with one JSON object",
        actual="no such file",
        suggestion=f"There is no file {shown!r} here or beside the config: check the path "
        "behind @.",
    )


def _unreadable(name: str, error: OSError) -> Fault:
    why, shown = error.strerror or type(error).__name__, mask_text(name)[:200]
    return Fault(
        "malformed_json",
        required="a file with one JSON object",
        actual="a file that cannot be read",
        suggestion=f"The file {shown!r} cannot be read ({why}): the user that runs Signoff "
        "must be allowed to, and able to.",
    )


def _readable(text: str) -> str:
    """Return a text with a replacement mark for each byte that is not UTF-8."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def _is_utf8(line: bytes) -> bool:
    try:
        line.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True
