"""Tells where in the program something went wrong, in words that a log may keep.

The words of an exception may hold what an agent sent, or a secret. Its type does not, nor do the
files, lines and functions that it went through.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import PurePath
from traceback import walk_tb
from types import CodeType, ModuleType
from typing import Final

from lifecycle.text.masking import mask_text

#: What an operator's own module may raise while it is loaded. One that was written as a program may
#: call `sys.exit`, which must not end the bot.
NOT_LOADED: Final = (Exception, SystemExit)
_MOST_FRAMES: Final = 6
_MOST_CAUSES: Final = 3
_LONGEST_NAME: Final = 80
_GENERATED: Final = "generated code"
#: Where Python keeps what `import` does.
_IMPORTING: Final = "<frozen importlib"


def located(error: BaseException | None) -> str:
    """Return the type of an exception and where it comes from, the innermost place first; never
    raises, and reads no file.

    `KeyError (after OSError at tools/crm.py:12 in _ask) at lifecycle/calls/carrying.py:93 in
    _result, from lifecycle/workflow.py:40 in approve`
    """
    if error is None:
        return "an end without a reason"
    try:
        causes = "".join(f" (after {_told(cause, 1)})" for cause in _causes_of(error))
        return _told(error, _MOST_FRAMES, causes)
    except BaseException:  # code of the error's own class, which may raise even what ends programs
        return "an error that cannot be told"


def not_loaded(error: BaseException) -> str:
    """Say why an operator's own module cannot be loaded: what is missing, or the line to mend."""
    match error:
        case SyntaxError():
            return f"{_short(error.filename or '?')} line {error.lineno}: {error.msg}"
        case ImportError():
            return mask_text(str(error))
        case AttributeError(obj=ModuleType() as module, name=str(name)):
            return f"{_dotted(module.__name__)} has no {_name(name)}, {located(error)}"
        case SystemExit():
            return f"it ends the program, {located(error)}"
        case _:
            return located(error)


def written_at(unit: Callable[..., object]) -> str:
    """Return where a function stands in the program: `lifecycle/acting.py:129 in _unit`."""
    while isinstance(unit, partial):
        unit = unit.func
    code = getattr(unit, "__code__", None)
    if code is None:
        return _GENERATED
    return f"{_short(code.co_filename)}:{code.co_firstlineno} in {_name(code.co_name)}"


def _told(error: BaseException, most: int, causes: str = "") -> str:
    codes = deque(_codes_of(error), maxlen=most)
    codes.reverse()
    places = [f"{_short(code.co_filename)}:{line} in {_name(code.co_name)}" for code, line in codes]
    where = f" at {', from '.join(places)}" if places else ""
    return f"{_name(type(error).__name__)}{causes}{where}"


def _codes_of(error: BaseException) -> Iterator[tuple[CodeType, int]]:
    """Yield the code that the exception went through, from the outside in, but for imports."""
    for frame, line in walk_tb(error.__traceback__):
        if not frame.f_code.co_filename.startswith(_IMPORTING):
            yield frame.f_code, line


def _causes_of(error: BaseException) -> Iterator[BaseException]:
    for _ in range(_MOST_CAUSES):
        cause = _cause_of(error)
        if cause is None:
            return
        yield cause
        error = cause


def _cause_of(error: BaseException) -> BaseException | None:
    """Return the exception that it came after; of a group, which says nothing itself, the first."""
    if isinstance(error, BaseExceptionGroup):
        return error.exceptions[0]
    if error.__cause__ is not None:
        return error.__cause__
    return None if error.__suppress_context__ else error.__context__


def _short(filename: str) -> str:
    """Return the last folder and the file: where the program is installed says nothing.

    Code that was made while the program ran may be named after anything; its name is not kept.
    """
    short = "/".join(PurePath(filename).parts[-2:])[-_LONGEST_NAME:]
    return short if short.isprintable() and short.endswith((".py", ">")) else _GENERATED


def _dotted(text: str) -> str:
    return ".".join(map(_name, text.split(".")))


def _name(text: str) -> str:
    """Return a name if it can be one in a program, or `<lambda>` and the like; else `?`."""
    return text[:_LONGEST_NAME] if text.strip("<>").isidentifier() else "?"
