"""Reads and runs commands: mentions, answered in their thread, and /signoff for people.

Twin: `discord/commands.py`.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Coroutine, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from bot.chat.commands.commands import Commands
from bot.chat.commands.help import COMMANDS
from bot.chat.commands.replies import Attached, CommandReply
from bot.chat.commands.typed import BLANK, turning_signs, typed
from bot.chat.hearing.notes import EDITED, Notes
from bot.chat.hearing.senders import as_known_now
from bot.chat.hearing.shown import when_heard
from bot.chat.showing.answering import Answers
from bot.chat.showing.aside import Asides
from bot.chat.slack.answers import Said as Answer
from bot.chat.slack.answers import answer, answer_alone
from bot.chat.slack.calls import SlackRefused
from bot.chat.slack.desk import Desk
from bot.chat.slack.text import unescape
from bot.chat.surface import SurfaceFailed
from lifecycle.answers import Sender
from lifecycle.errors import Fault, Refused
from lifecycle.first_gate.reading import DOCUMENT_LIMIT_BYTES
from lifecycle.text.masking import mask_text

log = logging.getLogger("signoff.slack")

_TYPED: Final = frozenset({None, "file_share", "bot_message", "thread_broadcast"})
_NAMED: Final = re.compile(r'"proposal_id"\s*:\s*"([A-Za-z0-9._-]{1,64})"')
_TAKE_FILES: Final = frozenset({"propose", "evidence"})
#: The key of a kept event for the user that the bot was when it was heard: by the next start the
#: config may have another app.
SPOKEN_TO: Final = "spoken_to"
#: For so long after its command was heard a file is tried again that Slack fails to give out.
_FETCHED_MS: Final = 300_000


@dataclass(frozen=True, slots=True)
class Said:
    """A message that begins with a mention of the bot. `text` is what follows, as it was typed."""

    user: str
    bot: str
    channel: str
    ts: str
    thread_ts: str
    text: str
    files: Sequence[Mapping[str, Any]]


def said(event: Mapping[str, Any], me: str) -> Said | None:
    """Read an app_mention or message event; None if the bot is not spoken to.

    Signs before the mention that turn what is shown are kept: they turn an id behind it, too.
    """
    if event.get("subtype") not in _TYPED:
        return None
    found = re.match(
        rf"(?:[{BLANK}]*<@{re.escape(me)}(?:\|[^>]*)?>[\s:,]*)+", str(event.get("text", ""))
    )
    if found is None or not event.get("ts"):
        return None
    return Said(
        user=str(event.get("user") or ""),
        bot=str(event.get("bot_id") or ""),
        channel=str(event.get("channel", "")),
        ts=str(event["ts"]),
        thread_ts=str(event.get("thread_ts") or event["ts"]),
        text=turning_signs(found[0]) + unescape(str(event["text"])[found.end() :]),
        files=tuple(event.get("files") or ()),
    )


def received(text: str) -> str:
    """Return the words that acknowledge a slash command before it is processed.

    Nothing has been checked yet: of what was typed they repeat the name of a command and an id
    that could be one, and no credential.
    """
    word = typed(text).word
    known = word if word in COMMANDS else "your command" if word else "nothing"
    named = set(_NAMED.findall(text)) if word == "propose" else set()
    (said,) = named if len(named) == 1 else (known,)
    return f"Received {said if mask_text(said) == said else known}; the answer follows."


class SlackCommands:
    """Runs what was typed, and answers where it was asked."""

    def __init__(self, commands: Commands, desk: Desk, asides: Asides) -> None:
        self._commands = commands
        self._asides = asides
        self._rest, self._web, self._files = desk.rest, desk.web, desk.files
        self._notes = Notes(desk.clock)
        self.answers = Answers(commands.workflow.world)

    async def mentioned(self, heard: Said, sender: Sender) -> None:
        """Run a mention and answer in its thread."""
        if heard.bot and sender.kind is None:
            await self._unknown_bot(heard, sender)
            return
        files = heard.files
        if not files and _wants_file(heard.text):
            files = await self._looked_for(heard)
        sender = as_known_now(self._commands.workflow.policy, sender)
        reply = await self._commands.run(heard.text, sender, [self._attached(f) for f in files])
        said = answer(reply, f"answer-{heard.ts}")
        answering = self._answered(heard, said, reply.document)
        await self._beside(heard.text, answering, heard.user or heard.bot)

    def edited(self, heard: Said) -> None:
        """Tell a person that the command which they wrote by an edit is not read."""
        here = not heard.bot and heard.channel == self._rest.id
        told = here and typed(heard.text).word in COMMANDS
        if told and self._notes.first(heard.user, "edited", heard.ts):
            self._asides.begin(self._rest.hint(heard.user, EDITED, heard.thread_ts), heard.user)

    async def _unknown_bot(self, heard: Said, sender: Sender) -> None:
        """Refuse an unnamed app, and tell it once: two bots must not answer each other for ever."""
        if typed(heard.text).word == "propose":
            reply = await self._commands.run("propose", sender)
        else:
            await self._commands.workflow.note_ignored("", sender, "unknown_agent")
            reply = CommandReply.words("This bot is no configured agent; nothing was done.")
        if self._notes.first(sender.account, "unknown_agent"):
            said = answer(reply, f"answer-{heard.ts}")
            self._asides.begin(self._answered(heard, said, None), heard.user or heard.bot)

    async def _beside(self, text: str, saying: Coroutine[Any, Any, None], to: str) -> None:
        """Answer in a task, while the next command is processed.

        Only the answer to a proposal is part of its event: if the bot ends before it is given, it
        is given after the start. Nothing waits behind that event.
        """
        if typed(text).word == "propose":
            await saying
        else:
            self._asides.begin(saying, to)

    async def _looked_for(self, heard: Said) -> Sequence[Mapping[str, Any]]:
        """Return the files of a mention that came without them; none if Slack refuses."""
        try:
            return await self._rest.files_of(heard.ts, heard.thread_ts)
        except SlackRefused as refused:
            log.info("no file is looked for: %s", refused)
            return ()

    async def _answered(
        self, heard: Said, said: Answer, document: Mapping[str, Any] | None
    ) -> None:
        """Post an answer in its thread; if that takes none, in the channel."""

        async def post() -> None:
            for thread_ts in (heard.thread_ts, None):
                try:
                    ts = await self._rest.post(f"answer:{heard.ts}", said.text, thread_ts=thread_ts)
                except SlackRefused as refused:
                    log.info("an answer cannot be posted: %s", refused)
                    continue
                if said.attachment is not None:
                    await self._files.follow(thread_ts or ts, said.attachment)
                return
            raise SurfaceFailed("no place takes it", lasting=True)

        await self.answers.post(post, document)

    async def slash(self, text: str, sender: Sender, response_url: str, user: str) -> None:
        """Run `/signoff …` and answer the person alone."""
        sender = as_known_now(self._commands.workflow.policy, sender)
        reply = await self._commands.run(text, sender)
        await self._beside(text, self._alone(reply, response_url, user), user)

    async def _alone(self, reply: CommandReply, response_url: str, user: str) -> None:
        words = answer_alone(reply)
        if not await self._web.respond(response_url, words):
            await self._rest.tell(user, words)

    def _attached(self, file: Mapping[str, Any]) -> Attached:
        url = str(file.get("url_private_download") or file.get("url_private") or "")

        async def fetch() -> bytes:
            try:
                return await self._web.download(url, DOCUMENT_LIMIT_BYTES)
            except SurfaceFailed as failure:
                if not failure.lasting and self._may_still_come():
                    raise
                raise Refused([_not_fetched(str(failure))]) from None

        return Attached(str(file.get("name", "")), int(file.get("size") or 0), fetch)

    def _may_still_come(self) -> bool:
        """Say whether a file that Slack just fails to give out is tried again. Other commands of
        the same person may wait behind it, so that an end must come."""
        heard_ms, now_ms = when_heard(), self._commands.workflow.world.clock.now_ms()
        return heard_ms is not None and now_ms - heard_ms < _FETCHED_MS


def _wants_file(text: str) -> bool:
    word, rest = typed(text)
    return word in _TAKE_FILES and not rest.strip()


def _not_fetched(why: str) -> Fault:
    return Fault(
        "malformed_json",
        required="one .json file",
        actual="a file that cannot be fetched",
        suggestion=f"The file was not read: {why}. Write the JSON behind the command.",
    )
