"""Builds the buttons beside the emoji: Approve, and Reject with a form for the reason.

What they mean is encoded in their ids alone, so that they work after every restart. Twin:
`slack/views.py`.
"""

from __future__ import annotations

from typing import Any, Final

import discord

from bot.chat.hearing.signals import Signal

APPROVE: Final = "signoff:approve"
REJECT: Final = "signoff:reject"
_REASON: Final = "signoff:reason:"
PROPOSE: Final = "signoff:propose"
_INPUT: Final = "text"


def buttons(react: str) -> discord.ui.View | None:
    """Return buttons for what the emoji do now, None if they do nothing."""
    approves, stops = (signal.character in react for signal in (Signal.APPROVE, Signal.STOP))
    if not approves and not stops:
        return None
    view = discord.ui.View(timeout=None)
    if approves:
        view.add_item(_button("Approve", APPROVE, discord.ButtonStyle.success, Signal.APPROVE))
    if stops:
        label = "Roll back" if "roll back" in react else "Reject"
        view.add_item(_button(label, REJECT, discord.ButtonStyle.danger, Signal.STOP))
    view.stop()  # presses are read from raw events, so discord.py need not remember this view
    return view


def reason_form(message_id: int) -> discord.ui.Modal:
    """Return the form that asks why; its id names the card's message."""
    return _form(
        "Reject or roll back",
        f"{_REASON}{message_id}",
        "Why? Its agent is told.",
        most=1000,
        hint="the discount is not approved",
    )


def proposal_form() -> discord.ui.Modal:
    """Return the form that takes a proposal."""
    return _form("Propose", PROPOSE, "The proposal, one JSON object", most=4000, hint='{"tool": …}')


def rejected_message(custom_id: str) -> str | None:
    """Return the id of the card's message from a reason form's id, None for another form."""
    return custom_id.removeprefix(_REASON) if custom_id.startswith(_REASON) else None


def typed_into(data: Any) -> str:
    """Return what somebody typed into a form of ours."""
    rows = data.get("components", ()) if isinstance(data, dict) else ()
    for row in rows:
        inner = [*row.get("components", ()), *([row["component"]] if "component" in row else [])]
        for each in inner:
            if each.get("custom_id") == _INPUT:
                return str(each.get("value", ""))
    return ""


def _button(
    label: str, custom_id: str, style: discord.ButtonStyle, signal: Signal
) -> discord.ui.Button[discord.ui.View]:
    return discord.ui.Button(label=label, custom_id=custom_id, style=style, emoji=signal.character)


def _form(title: str, custom_id: str, label: str, *, most: int, hint: str) -> discord.ui.Modal:
    form = discord.ui.Modal(title=title, custom_id=custom_id, timeout=None)
    form.add_item(
        discord.ui.TextInput(
            label=label,
            custom_id=_INPUT,
            style=discord.TextStyle.paragraph,
            placeholder=hint,
            max_length=most,
        )
    )
    form.stop()  # discord.py would remember it for as long as nobody sends it; see `buttons`
    return form
