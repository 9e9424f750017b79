"""Checks twice a second that the store still serves and that the lock still keeps others out.

`bot/running.py` runs it as a task on the event loop.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Final

from bot.bootstrap import App
from bot.storage.connection import CannotOpen
from bot.storage.lock import AlreadyRunning
from lifecycle.ports import StoreUnavailable

#: How often to look, in seconds: nobody removes the lock file and starts a second bot in less.
_EVERY_S: Final = 0.5

log = logging.getLogger("signoff")


async def keep_database(app: App) -> None:
    """Check the store and its lock until cancelled; what it raises ends the bot.

    Raises AlreadyRunning if another process has the database by now: two bots on one database might
    both carry out what was approved once, so this one ends. Raises StoreUnavailable if the store
    stopped for good: a bot that can write nothing is deaf, and its next start is not.
    """
    told = ""
    while True:
        await asyncio.sleep(_EVERY_S)
        try:
            app.keep_database()
            told = ""
        except StoreUnavailable as error:
            raise StoreUnavailable(
                f"{error} The bot ends. What was under way is taken up by its next start."
            ) from error
        except AlreadyRunning as error:
            raise AlreadyRunning(
                f"The lock file was removed while this bot worked, and another one began: this one "
                f"ends. {error}"
            ) from error
        except CannotOpen as error:  # a folder is gone or a disk is full: try again
            if str(error) != told:
                told = str(error)
                log.error("%s A second bot would not be kept out.", told)
