"""Makes the answer of `signoff status`, in lines for people and as JSON.

It is asked beside a running bot or without one; functions that take `tx` are views.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

from bot.books import elsewhere_words, no_database
from bot.chat.cards.spans import moment_words
from bot.clocks.told import clock_behind
from bot.config import Config
from bot.config.surfaces import choose
from bot.storage.read_only import read_only
from bot.storage.stop_lines import stops_in
from bot.surfaces_kept import kept_health, served_names
from bot.views import count_pending
from lifecycle.clockwork.clocks import clock_moved
from lifecycle.freezing import frozen
from lifecycle.moment import rfc3339
from lifecycle.ports import Transaction
from lifecycle.stops.spooling import is_freeze, spooled_words
from lifecycle.text.masking import mask_text

_MOST: Final = 50
#: The line about stops in the spool that are not for this database.
OTHERS: Final = "Stops in the spool that wait for a bot of another database: {}"


@dataclass(frozen=True, slots=True)
class Running:
    """The process that holds the database, and its note (`bot.own_state`)."""

    pid: int
    says: Mapping[str, Any]


def health_of(
    tx: Transaction,
    now_ms: int,
    config: Config,
    running: Running | None,
    stops: Sequence[Mapping[str, Any]],
) -> Sequence[str]:
    """Return lines for people: whether a bot runs, under which policy, with which surfaces, and
    which `stops` on disk wait for it. `running` is None if no bot holds the database."""
    lines = _idle_lines(config) if running is None else [*_running_lines(config, running)]
    if held := spooled_words(stops):
        lines.append(held)
    if behind := clock_behind(tx, now_ms):
        lines.append(behind)
    in_force = tx.flags.get("policy")
    if config.policy.digest and in_force not in (None, config.policy.digest):
        lines.append(f"The bot worked under another policy last, {in_force}: reload or start it")
    choice = choose(config, os.environ, attached=True)
    lines.append(f"Surfaces as this shell would start them: {', '.join(choice.names) or 'none'}")
    return [*lines, *choice.notes, *(_surface_lines(tx) if running is not None else ())]


def spooled(config: Config) -> Sequence[Mapping[str, Any]]:
    """Return the stops in the spool, for any database; none if it cannot be read, over which no
    bot starts."""
    with suppress(OSError):
        return stops_in(config.spool)
    return ()


def _idle_lines(config: Config) -> list[str]:
    """Return lines saying that no bot holds this database, where a bot is instead, and whether
    there is a database at all."""
    lines = [elsewhere_words(config) or "No bot runs", no_database(config)]
    return [line for line in lines if line]


def _running_lines(config: Config, running: Running) -> Sequence[str]:
    """Return lines about a running bot: what keeps it from working, and whether it works with this
    config as it is now."""
    unwritten, read = running.says.get("unwritten"), running.says.get("config")
    lines = [f"A bot runs (process {running.pid})", no_database(config)]
    lines.append(unwritten["words"] if unwritten else _read_only(config))
    if read is not None and read["digest"] != config.text_digest:
        at = moment_words(read["at_ms"])
        lines.append(f"It works with {read['path']} as it was at {at}, not with {config.path} now")
        if refused := running.says.get("refused"):
            lines.append(f"Told at {moment_words(refused['at_ms'])} to read it: {refused['why']}")
    if read is not None and read["only_at_start"]:
        parts = ", ".join(read["only_at_start"])
        lines.append(f"Changed in its config, but only read at a start: {parts}")
    return [line for line in lines if line]


def _surface_lines(tx: Transaction) -> Sequence[str]:
    """Return lines about how the running bot last saw its surfaces; none if it never looked."""
    kept = kept_health(tx)
    if kept is None:
        return ()
    lines = kept["lines"] or ("none: HTTP is on alone",)
    return (f"Surfaces as the bot saw them at {moment_words(kept['at_ms'])}:", *lines)


def status_json(
    tx: Transaction,
    now_ms: int,
    config: Config,
    running: Running | None,
    stops: Sequence[Mapping[str, Any]],
) -> dict[str, Any]:
    """Return as JSON the process, the policy, the freeze, what the `stops` on disk hold, counts and
    what needs a person. A view."""
    seq, head = tx.audit.head()
    stop = frozen(tx)
    return {
        "running": running is not None,
        "pid": running.pid if running is not None else None,
        "running_elsewhere": elsewhere_words(config) if running is None else None,
        "no_database": no_database(config),
        "clock_behind": clock_behind(tx, now_ms),
        "clock_moved": clock_moved(tx, now_ms),
        "at": rfc3339(now_ms),
        "policy_digest": config.policy.digest,
        "policy_in_force": tx.flags.get("policy"),
        "config": _config_json(config, running) if running is not None else None,
        "unwritten": _unwritten_json(config, running) if running is not None else None,
        "frozen": _freeze_json(dict(stop)) if stop else None,
        "held": _held_json(stops),
        "pending": count_pending(tx, now_ms),
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
        "surfaces": list(_served(config, tx, running=running is not None)),
        "health": _health_json(tx) if running is not None else None,
        "database": config.database,
    }


def _held_json(stops: Sequence[Mapping[str, Any]]) -> dict[str, Any] | None:
    """Return what is held until the stops on disk can be carried out, None if no stop waits."""
    if not stops:
        return None
    of_one = {mask_text(str(stop["proposal_id"])) for stop in stops if not is_freeze(stop)}
    return {"everything": any(map(is_freeze, stops)), "proposals": sorted(of_one)}


def _read_only(config: Config) -> str | None:
    """Return words saying that the disk is mounted read-only, None if it is not.

    On such a disk the bot cannot write the note that says that it cannot write.
    """
    database = config.database_file
    if database is None or not read_only(database):
        return None
    return (
        f"The disk of {database} is mounted read-only: nothing is approved, executed or closed "
        "until it can be written again. A disk that fails is mounted so: see dmesg"
    )


def _config_json(config: Config, running: Running) -> dict[str, Any] | None:
    """Return which config the bot works with, and whether it is the one that was read here; None if
    its note does not say."""
    read, refused = running.says.get("config"), running.says.get("refused")
    if read is None:
        return None
    return {
        "path": read["path"],
        "read_at": rfc3339(read["at_ms"]),
        "is_this": read["digest"] == config.text_digest,
        "only_at_start": read["only_at_start"],
        "refused": {"at": rfc3339(refused["at_ms"]), "why": refused["why"]} if refused else None,
    }


def _unwritten_json(config: Config, running: Running) -> dict[str, Any] | None:
    """Return why the bot cannot write its store, and since when if known; None if it can."""
    if told := running.says.get("unwritten"):
        return {"since": rfc3339(told["since_ms"]), "why": told["why"]}
    why = _read_only(config)
    return {"since": None, "why": why} if why else None


def _served(config: Config, tx: Transaction, *, running: bool) -> tuple[str, ...]:
    """Return the surfaces of the running bot, else those that a start from this shell would
    serve."""
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
