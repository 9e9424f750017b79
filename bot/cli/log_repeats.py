"""Keeps a line that comes again and again from filling the log: what fails is tried each second."""

from __future__ import annotations

import logging
from collections import OrderedDict
from typing import Final

#: The same warning or error is written once in so many seconds.
_EVERY_S: Final = 60.0
#: So many lines are remembered; of more the ones that came longest ago are forgotten.
_MOST: Final = 500

_Line = tuple[str, int, str]


class Repeats(logging.Filter):
    """Drops a warning or an error that was written less than a minute ago, word by word.

    The next time that it is written it says how often it came in between. The traceback below it is
    a part of it: another error is no repeat. Any thread may log.
    """

    def __init__(self) -> None:
        super().__init__()
        # When each line was written, by the record's own time (s), and how often it came since.
        self._written = OrderedDict[_Line, tuple[float, int]]()
        self._words = logging.Formatter()

    def filter(self, record: logging.LogRecord) -> bool:
        """Return whether the record is to be written; it may be given a few words more."""
        if record.levelno < logging.WARNING:
            return True
        try:
            said, text = record.getMessage(), self._words.format(record)
        except Exception:
            return True  # whoever writes it says what is wrong with it; nobody who logs may fail
        line = (record.name, record.levelno, text)
        at_s, more = self._written.pop(line, (None, 0))
        if at_s is not None and 0 <= record.created - at_s < _EVERY_S:
            self._written[line] = (at_s, more + 1)
            return False
        self._written[line] = (record.created, 0)
        if len(self._written) > _MOST:
            self._written.popitem(last=False)
        if more:
            times = "once more" if more == 1 else f"{more} times more"
            record.msg, record.args = f"{said} (this came {times} since it was last said)", None
        return True
