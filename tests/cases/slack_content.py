"""What a card on Slack is made of: the bot's facts, and what an agent wrote."""

from __future__ import annotations

from typing import Any

from bot.chat.cards.content import CardContent, Colour, Field


def a_card(*written: Field, **changes: Any) -> CardContent:
    """Return the content of a waiting card, with what an agent wrote."""
    facts = (Field("Action", "send-email (communicate)"), Field("State", "waits for people"))
    base: dict[str, Any] = {
        "proposal_id": "p1",
        "version": 2,
        "title": "🔔 PROPOSAL from agent leila (PROPOSE tier)",
        "colour": Colour.WAITING,
        "final": False,
        "facts": facts,
        "written_by": "Written by agent leila, unverified",
        "written": written,
        "react": "React: ✅ approve | ❌ reject",
        "footer": "p1 · sha256:0 · version 2",
    }
    return CardContent(**(base | changes))


def an_agents(label: str, text: str) -> Field:
    """Return a field that an agent wrote."""
    return Field(label, text, text, "sha256:1")
