"""This module holds the errors of the agent's client, and the checks of what it must never send.

The client raises SignoffRefused if Signoff says no, SignoffUnreachable if it gives no answer.
"""

from __future__ import annotations

import copy
import json
import re
from collections import OrderedDict
from collections.abc import Callable, Mapping
from enum import Enum
from typing import Any, Final
from urllib.parse import urlsplit

import httpx

_LONGEST_SHOWN: Final = 200
_ID: Final = re.compile(r"(?!\.+\Z)[A-Za-z0-9._-]{1,64}")
#: How a value of a class that someone derived from one of these becomes what its JSON shows.
_SCALARS: Final[tuple[tuple[type, Callable[[Any], Any]], ...]] = (
    (str, str.__str__),
    (int, int.__int__),
    (float, float.__float__),
)
_LOOK: Final = (
    "What was asked may have been done all the same: look what became of the proposal before you "
    "send it again."
)
_UNSENT: Final = {
    "non_finite_number": "NaN and Infinity are no JSON: send a finite number.",
    "invalid_unicode": "A text holds half a character (a lone surrogate), which is no UTF-8.",
    "too_deep": "Objects and lists are nested too deep.",
    "wrong_type": "Something in it is no JSON: send objects, lists, texts, numbers, true, false.",
    "invalid_identifier": "An id is 1 to 64 of A-Z a-z 0-9 . _ -, and not of dots alone.",
}


class SignoffRefused(Exception):
    """Signoff said no. `reason` is the stable code, `retry` whether to try again."""

    def __init__(self, reason: str, explanation: str, answer: Mapping[str, Any]) -> None:
        """Keep the whole answer: `errors` say what to change."""
        super().__init__(f"{reason}: {explanation}" if explanation else reason)
        self.reason = reason
        self.explanation = explanation
        self.answer = dict(answer)
        self.retry = self.answer.get("retry")


class SignoffUnreachable(Exception):
    """The bot could not be reached, or its answer cannot be understood.

    `maybe_done` is True if the call was to change something and may have arrived: the caller looks
    what became of it before it sends it again.
    """

    def __init__(self, words: str, *, maybe_done: bool = False) -> None:
        """Take the sentence that the caller reads."""
        super().__init__(f"{words} {_LOOK}" if maybe_done else words)
        self.maybe_done = maybe_done


class NothingDone(Exception):
    """A governed function raises this to say that it failed and left nothing behind.

    `told_of` is the proposal whose call it was reported for; it speaks of that call alone.
    """

    told_of: str | None = None


def address(url: str) -> str:
    """Return the address of a bot without a slash at its end.

    Raises SignoffUnreachable if `url` is no address: else a forgotten `http://` would look like a
    bot that does not run. White space around it is removed; it comes from the file or the shell.
    """
    url = url.strip()
    try:
        parts, _ = urlsplit(url), httpx.URL(url)
        whole = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
    except (ValueError, httpx.InvalidURL):
        whole = False
    if "@" in (parts.netloc if whole else url):  # httpx would send them in the place of the token
        raise SignoffUnreachable(
            "The address of a bot has no user and password in it: the token alone says who speaks."
        )
    if not whole or "?" in url or "#" in url:  # what is asked would stand behind these
        raise SignoffUnreachable(
            f"{url[:_LONGEST_SHOWN]!r} is no address of a bot: write one like http://127.0.0.1:8080."
        )
    return url.rstrip("/")


def bearer(token: str) -> str:
    """Return the Authorization header for a token.

    Raises SignoffUnreachable for a token that no header can hold. White space around it comes from
    the file or the shell, and the bot strips it as well.
    """
    held = token.strip()
    if not (held.isascii() and held.isprintable()):
        raise SignoffUnreachable(
            "SIGNOFF_TOKEN holds what cannot be sent: a token is one line of ASCII characters."
        )
    return f"Bearer {held}"


def encoded(body: Mapping[str, Any]) -> bytes:
    """Return a body as JSON; raises SignoffRefused if Signoff would refuse to read it."""
    try:
        return _json(body)
    except RecursionError:
        raise _unsent("too_deep") from None
    except UnicodeEncodeError:
        raise _unsent("invalid_unicode") from None
    except (TypeError, ValueError) as error:
        raise _unsent(_flaw(body, error)) from None


def copied(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return a deep copy of arguments, in which nothing acts otherwise than people see it.

    Raises SignoffRefused if one of them cannot be copied, or could: a dict with defaults of its own
    holds what no JSON shows.
    """
    try:
        copies = copy.deepcopy(dict(arguments))
        return {name: _plain(value) for name, value in copies.items()}
    except SignoffRefused:
        raise
    except RecursionError:
        raise _unsent("too_deep") from None
    except Exception:
        # An object such as a lock or a connection may refuse to be copied with any exception.
        raise _unsent("wrong_type") from None


def _plain(value: Any) -> Any:
    """Return a value as its JSON shows it; what is no JSON at all is returned as it is, and refused
    when it is sent. The member of an enum stays one: it stands for its value.
    """
    if isinstance(value, Enum | bool):
        return value
    for kind, plain in _SCALARS:
        if isinstance(value, kind):
            return plain(value)
    return _contained(value) if isinstance(value, dict | list | tuple) else value


def _contained(value: Any) -> Any:
    """Return a container with plain values; raises SignoffRefused for one of a class of its own."""
    kind = type(value)
    if kind in (dict, OrderedDict):
        return kind((_plain(key), _plain(each)) for key, each in value.items())
    if kind in (list, tuple):
        return kind(map(_plain, value))
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return tuple.__new__(kind, map(_plain, value))
    raise _unsent("wrong_type")


def part_of_path(proposal_id: str) -> str:
    """Return an id as one part of a path; raises SignoffRefused if it is no valid id.

    Any other text could be read as further parts or as a step (`..`), and reach another operation.
    """
    if not _ID.fullmatch(proposal_id):
        raise _unsent("invalid_identifier")
    return proposal_id


def _json(body: Any, *, allow_nan: bool = False) -> bytes:
    words = json.dumps(body, ensure_ascii=False, separators=(",", ":"), allow_nan=allow_nan)
    return words.encode()


def _flaw(body: Any, error: Exception) -> str:
    """Return the code of what cannot be written; json raises ValueError for NaN and for circles."""
    if isinstance(error, ValueError):
        try:
            _json(body, allow_nan=True)
        except (TypeError, ValueError):
            return "wrong_type"
        return "non_finite_number"
    return "wrong_type"


def _unsent(code: str) -> SignoffRefused:
    words = _UNSENT[code]
    fault = {"code": code, "path": "", "required": None, "actual": None, "suggestion": words}
    told = {"reason": code, "detail": words, "errors": [fault], "retry": "after_change"}
    return SignoffRefused(code, words, told)
