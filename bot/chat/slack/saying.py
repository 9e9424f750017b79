"""Says kept messages in words: in the thread that they belong to, else in the channel.

Twin: `discord/saying.py`.
"""

from __future__ import annotations

import logging

from bot.chat.commands.as_typed import as_typed
from bot.chat.slack.accounts import SURFACE
from bot.chat.slack.answers import document_said
from bot.chat.slack.calls import SlackRefused
from bot.chat.slack.desk import Desk
from bot.chat.slack.render import PREFIX, words_message
from bot.chat.slack.text import escape
from bot.chat.surface import once
from lifecycle.ports import Transaction
from lifecycle.records import Message

log = logging.getLogger("signoff.slack")


def said_key(message: Message) -> str:
    """Return the key under which a message is posted."""
    return f"said:{once(message)}"


async def said(desk: Desk, message: Message) -> str | None:
    """Say one message, once; raises SurfaceFailed.

    Returns the ts of a message of words, to which people can reply; None for anything else.
    """
    words, key = message.body.get("text"), said_key(message)
    if message.kind == "permit":
        # The permit itself is not posted: it is for the agent alone, and everybody reads here.
        waits = f"{message.recipient}: {message.body.get('proposal_id')} is approved; its "
        await _in_thread(desk, message, key, escape(f"{waits}permit waits at the HTTP door."))
    elif isinstance(words, str):
        if message.kind == "announcement":
            words = as_typed(words, PREFIX, message.proposal_id)
        told = f"{message.recipient}: {words}" if message.recipient else words
        return await _words(desk, key, told, f"{message.kind}-{message.created_at_ms}.txt")
    else:
        name = f"{message.kind}-{message.proposal_id or message.created_at_ms}"
        answer = document_said(message.body, name)
        place = await _in_thread(desk, message, key, answer.text)
        if answer.attachment is not None:
            await desk.files.follow(place, answer.attachment)
    return None


async def _words(desk: Desk, key: str, told: str, name: str) -> str:
    """Post words to the channel, and the whole of long ones under them; return their ts."""
    shown = words_message(told, name)
    ts = await desk.rest.post(key, shown.text, shown.blocks)
    if shown.attachment is not None:
        await desk.files.follow(ts, shown.attachment)
    return ts


async def _in_thread(desk: Desk, message: Message, key: str, text: str) -> str:
    """Post text in the thread that it belongs to; if that takes nothing any more, in the channel.

    Return the ts of the thread in which it stands, or which it may begin.
    """
    thread_ts = await _thread(desk, message.proposal_id)
    if thread_ts is not None:
        try:
            await desk.rest.post(key, text, thread_ts=thread_ts)
        except SlackRefused as refused:
            log.info("said in the channel, not in its thread: %s", refused)
        else:
            return thread_ts
    return await desk.rest.post(key, text)


async def _thread(desk: Desk, proposal_id: str | None) -> str | None:
    """Return the thread for an answer: where the proposal was asked for, else its card's."""

    def place(tx: Transaction) -> str | None:
        proposal = tx.proposals.get(proposal_id or "")
        card = tx.cards.get(proposal_id or "", SURFACE)
        channel, _, ts = ((proposal.place if proposal else None) or "").partition(":")
        if channel == desk.rest.id and ts:
            return ts
        return card.message_ids[-1] if card and card.message_ids else None

    return await desk.workflow.world.store.read(place)
