"""Acts on the store for the command line: submits one proposal, freezes, thaws, prepares a copy.

`bot/cli` runs each of them on a loop of its own. `propose` and `restore` need that no bot runs;
`freeze` and `thaw` also work beside one.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Final

from bot.books import elsewhere_words, look, no_database, running_pid
from bot.bootstrap import opened
from bot.clocks.clock import SystemClock
from bot.composing import composed
from bot.config import Config
from bot.config.surfaces import names_on
from bot.keys import passing_ring
from bot.quiet import Quiet
from bot.storage import open_store
from bot.storage.connection import CannotOpen
from bot.storage.identity import check_brought_back, forget_name, known_of
from bot.storage.one_file import refuse_other_name
from bot.storage.opening import path_of
from bot.storage.stop_lines import stops_in, stops_of
from bot.surfaces_kept import served_names
from lifecycle.answers import Answer, Reply, Sender
from lifecycle.clockwork import restored
from lifecycle.freezing import freeze, thaw
from lifecycle.moment import Moment
from lifecycle.ports import StoreUnavailable, Transaction
from lifecycle.stops.spooling import is_freeze
from lifecycle.verdicts.fingerprints import digest_in_force

_KEPT: Final = "Nothing was lifted."
_FREEZE_WAITS: Final = (
    "A freeze that was given while the database could not be written waits for the bot: a running "
    "one puts it in force as soon as it can, else the next one at its start. Then thaw again."
)


async def submit_once(
    config: Config, environment: Mapping[str, str], raw: bytes, sender: Sender, stem: str
) -> Answer:
    """Submit one document while no bot runs, and return the answer; cards wait for the next `run`.

    `stem` begins the id of a document that leaves its id open (`bot.composing`). Raises CannotOpen.
    """
    path_of(config.database, config.folder)
    async with opened(config, environment, Quiet(_surfaces(config, environment))) as app:
        await app.workflow.start()
        world = app.workflow.world
        document = composed(raw, stem, world.clock.now_ms(), lambda: secrets.token_hex(4))
        answer = await app.workflow.submit(document, sender)
        await app.workflow.idle()
        return answer


async def freeze_now(
    config: Config, environment: Mapping[str, str], reason: str, sender: Sender
) -> Reply:
    """Put the freeze in force; a running bot reads it at its next step. Raises CannotOpen."""
    return await _operated(config, environment, lambda tx, m: freeze(tx, m, sender, reason))


async def thaw_now(config: Config, environment: Mapping[str, str], sender: Sender) -> Reply:
    """Lift the freeze, unless a freeze waits in the spool for the bot: that one would come into
    force later. Raises CannotOpen."""
    try:
        waits = list(filter(is_freeze, stops_in(config.spool)))
    except OSError as error:
        raise CannotOpen(f"{error.filename} cannot be read: {error.strerror}. {_KEPT}") from error
    if waits and stops_of(waits, await look(config, lambda tx, _now_ms: known_of(tx))):
        return Reply(f"{_FREEZE_WAITS} {_KEPT}", "audit_unavailable")
    return await _operated(config, environment, lambda tx, moment: thaw(tx, moment, sender))


async def bring_back(config: Config, environment: Mapping[str, str], fresh: Path, copy: str) -> int:
    """Freeze the copy `fresh`, which is about to replace the database, and put in question what is
    open in it.

    `copy` is the name of the file that it came from. Returns how many proposals are in question.
    Raises CannotOpen.
    """
    store = await open_store(f"sqlite:///{fresh}", config.folder)
    try:
        moment, name = _moment(config, environment), await _name_of(config)

        def unit(tx: Transaction) -> int:
            forget_name(tx, but=name)
            return restored.bring_back(tx, moment, copy)

        return await store.write(unit)
    finally:
        await store.close()


async def _name_of(config: Config) -> str | None:
    """Return the name of the present database, None if there is none or it cannot be read."""
    with suppress(CannotOpen, StoreUnavailable):
        return (await look(config, lambda tx, _now_ms: known_of(tx))).name
    return None


def _moment(config: Config, environment: Mapping[str, str]) -> Moment:
    return Moment(
        now_ms=SystemClock().now_ms(),
        policy=config.policy,
        surfaces=_surfaces(config, environment),
        ring=passing_ring(),
        nonce=lambda: secrets.token_urlsafe(16),
    )


async def _operated(
    config: Config, environment: Mapping[str, str], unit: Callable[[Transaction, Moment], Reply]
) -> Reply:
    """Run one short transaction beside a running bot, or alone. Raises CannotOpen."""
    # A freeze in a database that the bot does not read would stop nothing.
    if running_pid(config) is None and (elsewhere := elsewhere_words(config)):
        raise CannotOpen(
            f"{elsewhere} Nothing was frozen or lifted: type it in the chat, or name that "
            "database in the config again."
        )
    file = path_of(config.database, config.folder)  # raises for memory:, which is another process's
    if not file.exists():
        raise CannotOpen(f"{no_database(config)} Nothing was frozen or lifted.")
    refuse_other_name(file)
    store = await open_store(config.database, config.folder, beside=True)
    try:
        await check_brought_back(store, file)  # writing there would make a mere copy look restored
        moment = _moment(config, environment)
        return await store.write(lambda tx: unit(tx, _as_the_bot(tx, moment)))
    finally:
        await store.close()


def _as_the_bot(tx: Transaction, moment: Moment) -> Moment:
    """Return the moment with the surfaces of the running bot, for announcements, and the digest of
    its policy, for the trail.

    The tokens of its surfaces need not be set in this shell. Its rules and tools are not loaded
    here, and the config may have been changed since it was read.
    """
    policy = replace(moment.policy, digest=digest_in_force(tx))
    return replace(moment, policy=policy, surfaces=served_names(tx) or moment.surfaces)


def _surfaces(config: Config, environment: Mapping[str, str]) -> tuple[str, ...]:
    """Return the surfaces on which a bot that is started from this shell would show it."""
    return names_on(config, environment, attached=True)
