"""How the house stands, for the command line: beside a running bot or without one."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, Final

from bot.chat.spans import moment_words
from bot.chat.watching import kept_health, served_names
from bot.config import Config
from bot.config.surfaces import choose
from lifecycle.freezing import frozen
from lifecycle.masking import mask_text
from lifecycle.moment import rfc3339
from lifecycle.ports import Transaction

_MOST: Final = 50


def health_of(tx: Transaction, config: Config, pid: int | None) -> Sequence[str]:
    """Return lines for people: does a bot run, under this policy, with which surfaces."""
    lines = [f"A bot runs (process {pid})" if pid is not None else "No bot runs"]
    in_force = tx.flags.get("policy")
    if in_force not in (None, config.policy.digest):
        lines.append(f"The bot worked under another policy last, {in_force}: reload or start it")
    choice = choose(config, os.environ, attached=True)
    lines.append(f"Surfaces as this shell would start them: {', '.join(choice.names) or 'none'}")
    return [*lines, *choice.notes, *_surface_lines(tx, pid)]


def _surface_lines(tx: Transaction, pid: int | None) -> Sequence[str]:
    """Return how the running bot last saw its surfaces."""
    kept = kept_health(tx)
    if kept is None or pid is None:
        return ()
    return (f"Surfaces as the bot saw them at {moment_words(kept['at_ms'])}:", *kept["lines"])


def status_json(tx: Transaction, now_ms: int, config: Config, pid: int | None) -> dict[str, Any]:
    """Return process, policy, freeze, counts and what needs a person. A view."""
    seq, head = tx.audit.head()
    stop = frozen(tx)
    return {
        "running": pid is not None,
        "pid": pid,
        "at": rfc3339(now_ms),
        "policy_digest": config.policy.digest,
        "policy_in_force": tx.flags.get("policy"),
        "frozen": _freeze_json(dict(stop)) if stop else None,
        "pending": tx.proposals.count_waiting(),
        "executing": tx.proposals.count_executing(),
        "attention": [
            {
                "proposal_id": each.proposal_id,
                "attention": str(each.attention),
                "why": mask_text(each.attention_why),
            }
            for each in tx.proposals.with_attention(_MOST)
        ],
        "audit": {"entries": seq, "head": head},
        "surfaces": list(_served(config, tx, running=pid is not None)),
        "health": _health_json(tx) if pid is not None else None,
        "database": config.database,
    }


def _served(config: Config, tx: Transaction, *, running: bool) -> tuple[str, ...]:
    """Return the surfaces of the running bot, else those that a start from here would serve."""
    served = served_names(tx) if running else ()
    return served or choose(config, os.environ, attached=True).names


def _health_json(tx: Transaction) -> dict[str, Any] | None:
    kept = kept_health(tx)
    if kept is None:
        return None
    troubles = {
        name: {"since": rfc3339(int(each["since_ms"])), "why": each["why"]}
        for name, each in kept["troubles"].items()
    }
    return {"at": rfc3339(int(kept["at_ms"])), "lines": kept["lines"], "troubles": troubles}


def _freeze_json(stop: dict[str, Any]) -> dict[str, Any]:
    reason = mask_text(str(stop.get("reason", "")))
    return {"by": stop.get("by"), "reason": reason, "at": rfc3339(int(stop["at_ms"]))}
