"""What people see in the channel: cards, answers, notes to one of them."""

from __future__ import annotations

import json
import re
from typing import Any

from tests.fakes.slack_server import SlackServer
from tests.fakes.slack_server.limits import texts_of
from tests.fakes.slack_server.workspace import Message
from tests.slack_stage.waiting import eventually


class Seen:
    """Mixed into the stage: looks at the workspace as people do."""

    server: SlackServer

    async def card(self, proposal_id: str) -> Message:
        """Return the current card of a proposal, with its seeds."""
        return await eventually(lambda: self.seeded(proposal_id), f"the card of {proposal_id}")

    def seeded(self, proposal_id: str) -> Message | None:
        card = next(iter(self.cards(proposal_id)[::-1]), None)
        return card if card is not None and "x" in card.reactions else None

    def cards(self, proposal_id: str | None = None) -> list[Message]:
        """Return all cards that stand, of one proposal or of all."""
        found = [m for m in self.server.workspace.messages if m.blocks and m.thread_ts is None]
        footer = f" {proposal_id} \u00b7 sha256" if proposal_id else "\u00b7 sha256:"
        return [m for m in found if footer in shown(m)]

    def answers(self) -> list[dict[str, Any]]:
        """Return the JSON objects that the bot posted."""
        return [
            json.loads(unescaped(found[1]))
            for m in self.server.workspace.messages
            if m.user == self.server.workspace.bot_user
            and (found := re.fullmatch(r"```(\{.*\})```", m.text, re.DOTALL))
        ]

    async def answered(self, **wanted: Any) -> dict[str, Any]:
        """Wait for an answer with these values."""

        def look() -> dict[str, Any] | None:
            found = self.answers()
            return next((a for a in found if wanted.items() <= a.items()), None)

        return await eventually(look, f"the answer {wanted}")

    def hints(self) -> list[str]:
        """Return the notes to single people."""
        return [unescaped(each["text"]) for each in self.server.workspace.ephemeral]

    def said(self, words: str) -> list[Message]:
        """Return the messages in which these words stand."""
        return [m for m in self.server.workspace.messages if words in shown(m)]


def shown(message: Message) -> str:
    """Return everything a person can read in a message, as it reads."""
    return unescaped("\n".join([message.text, *(t["text"] for t in texts_of(message.blocks))]))


def unescaped(text: str) -> str:
    return text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
