"""Holds the table of commands: how each is written and what it does (design section 8)."""

from __future__ import annotations

from typing import Final

#: By the command's word: what stands behind it, and what it does.
COMMANDS: Final = {
    "propose": (
        "<JSON>",
        "propose one action: JSON inline, in a code fence or one .json file (terminal: @FILE)",
    ),
    "pending": ("[page]", "list what waits, what needs attention first"),
    "show": ("<id>", "show one proposal; 4 characters of its id are enough if unique"),
    "explain": ("<id>", "show every rule's verdict and every condition of authority"),
    "audit": ("<id>", "show the trail of one proposal"),
    "approve": ("<id> [reason]", "approve, like ✅; the whole id"),
    "reject": ("<id> <reason>", "reject, or roll back inside the window, like ❌"),
    "roll-back": ("<id> <reason>", "roll back what was done, while its window is open"),
    "withdraw": ("<id>", "take back a proposal of your own that has not begun"),
    "settle": ("<id> happened|did-not-happen", "write down what became of an unknown outcome"),
    "retry": ("<id>", "call again what failed, or what nobody knows the outcome of"),
    "answer": ("<question> <words>", "answer an agent's question; the first reply counts"),
    "evidence": ("<JSON>", "record an evidence packet (configured sources only)"),
    "freeze": ("<reason>", "stop every execute, commit and closing (operators)"),
    "thaw": ("", "lift the freeze (operators)"),
    "tools": ("", "list the tools and their tiers"),
    "rules": ("[id]", "list the rules, or one with its settings"),
    "policy": ("", "show which policy is in force"),
    "status": ("", "show the surfaces, the policy, the freeze and what needs attention"),
    "help": ("[command]", "show this list"),
}


def usage_of(command: str) -> str:
    """Return how a command is written and what it does, in one line."""
    behind, does = COMMANDS[command]
    written = f"{command} {behind}".strip()
    return f"{written} — {does}"
