"""Looking after the database: whether it still serves, and nobody else is let in."""

from __future__ import annotations

import asyncio
import logging
from typing import Final

from bot.bootstrap import App
from bot.storage.connection import CannotOpen
from bot.storage.lock import AlreadyRunning
from lifecycle.ports import StoreUnavailable

#: Nobody removes the file and has a second bot started in less.
_EVERY_S: Final = 0.5

log = logging.getLogger("signoff")


async def keep_database(app: App) -> None:
    """Look after it until cancelled.

    Raises AlreadyRunning where another process has it by now: two that work with one database may
    both carry out what was approved once, and this one ends. Raises StoreUnavailable where the
    store stopped for good: a bot that can write nothing down is deaf, and its next start is not.
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
        except CannotOpen as error:  # a folder that is gone, a disk that is full: tried again
            if str(error) != told:
                told = str(error)
                log.error("%s A second bot would not be kept out.", told)
