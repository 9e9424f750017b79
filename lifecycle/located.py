"""Where in the program something went wrong, in words that a log may keep.

The words of an exception may hold what an agent sent, or a secret; its type, and the files, lines
and functions that it went through, do not.
"""

from __future__ import annotations

import traceback
from pathlib import PurePath
from typing import Final

_MOST_FRAMES: Final = 6


def located(error: BaseException | None) -> str:
    """Return the type of an exception and where it comes from, the innermost place first.

    `KeyError at lifecycle/carrying.py:93 in _call, from lifecycle/workflow.py:40 in approve`
    """
    if error is None:
        return "an end without a reason"
    caused = f" (after {type(cause).__name__})" if (cause := _cause_of(error)) else ""
    frames = traceback.extract_tb(error.__traceback__)[-_MOST_FRAMES:]
    places = [f"{_short(frame.filename)}:{frame.lineno} in {frame.name}" for frame in frames]
    where = f" at {', from '.join(reversed(places))}" if places else ""
    return f"{type(error).__name__}{caused}{where}"


def not_loaded(error: BaseException) -> str:
    """Say why a module of somebody's own cannot be loaded: what is missing, or the line to mend."""
    match error:
        case SyntaxError():
            return f"{_short(error.filename or '?')} line {error.lineno}: {error.msg}"
        case ImportError():
            return str(error)
        case _:
            return located(error)


def _cause_of(error: BaseException) -> BaseException | None:
    return error.__cause__ or (None if error.__suppress_context__ else error.__context__)


def _short(filename: str) -> str:
    """Keep the folder and the file: where the program is installed says nothing."""
    return "/".join(PurePath(filename).parts[-2:])
