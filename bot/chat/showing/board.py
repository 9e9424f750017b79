"""Builds the board: one message that lists what waits, what is under way, and what needs a person.

Each platform renders it within its own limits (`discord/board.py`, `slack/board.py`);
`board_keeping` keeps it current.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from bot.chat.cards.card_facts import state_words
from bot.chat.commands.listing import what_of
from lifecycle.freezing import frozen
from lifecycle.ports import Transaction
from lifecycle.proposal import Proposal

#: So many lines a group has; the rest is counted.
MOST_LINES: Final = 10
#: The count of what needs a person, or is past its deadline, stops at this number.
_MOST_COUNTED: Final = 1_000


@dataclass(frozen=True, slots=True)
class BoardLine:
    """One proposal, as literal text; `at_ms` is its deadline, or when its window closes.

    The text holds no relative time, so that a board changes only when something happened.
    """

    proposal_id: str
    text: str
    at_ms: int | None = None


@dataclass(frozen=True, slots=True)
class BoardGroup:
    """A heading, how many proposals belong under it, and the first of them."""

    title: str
    total: int
    lines: tuple[BoardLine, ...]


@dataclass(frozen=True, slots=True)
class Board:
    """All groups, in the order in which people look at them."""

    title: str
    groups: tuple[BoardGroup, ...]


def board_of(tx: Transaction, now_ms: int) -> Board:
    """Return the board as it stands now; this is a view."""
    needy = tx.proposals.with_attention(_MOST_COUNTED)
    lapsed = len(tx.proposals.due_to_expire(now_ms, _MOST_COUNTED))
    waiting = [p for p in tx.proposals.waiting(0, MOST_LINES + lapsed) if not p.expired(now_ms)]
    executing = tx.proposals.executing(0, MOST_LINES)
    total = max(0, tx.proposals.count_waiting() - lapsed)
    groups = (
        _group("⚠️ Needs a person", needy, len(needy)),
        _group("🔔 Waits for a decision", waiting[:MOST_LINES], total),
        _group("⏱️ Under way or inside its window", executing, tx.proposals.count_executing()),
    )
    freeze = frozen(tx)
    title = "🧊 FROZEN: nothing executes, commits or closes" if freeze else "Signoff: what is open"
    return Board(title, groups)


def _group(title: str, found: Sequence[Proposal], total: int) -> BoardGroup:
    return BoardGroup(title, total, tuple(_line(each) for each in found[:MOST_LINES]))


def _line(proposal: Proposal) -> BoardLine:
    execution = proposal.execution
    closes_ms = execution.window_closes_at_ms if execution else None
    at_ms = closes_ms if execution else proposal.deadline_ms
    attention = f"{proposal.attention}: " if proposal.attention else ""
    text = (
        f"{proposal.actor} · {proposal.tool} ({proposal.tier}) · {what_of(proposal)} · "
        f"{attention}{state_words(proposal)}"
    )
    return BoardLine(proposal.proposal_id, text, None if proposal.terminal else at_ms)


def lines_that_fit(
    group: BoardGroup, line: Callable[[BoardLine], str], fits: Callable[[str], bool], command: str
) -> str:
    """Return as many of the group's lines as fit, and how many more `command` lists."""
    lines: list[str] = []
    for each in group.lines:
        shown = line(each)
        if not fits("\n".join([*lines, shown])):
            break
        lines.append(shown)
    left = group.total - len(lines)
    if left > 0:
        lines.append(f"… {left} more: {command}")
    return "\n".join(lines)
