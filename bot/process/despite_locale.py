"""Reads words that a person typed as they were typed, whatever locale the bot was started in."""

from __future__ import annotations

import sys


def despite_locale(text: str, encoding: str | None = None) -> str:
    """Return `text`, which Python has read in `encoding`; what that cannot read is read as UTF-8.

    Without `encoding` it is an argument of the command line. In the C locale with PYTHONUTF8=0,
    for one, Python knows ASCII alone and keeps any other byte as half a character, which no trail
    can hold. Where the bytes are no UTF-8 either, the text is returned as it is.
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        read_as = encoding or sys.getfilesystemencoding()
        try:
            return text.encode(read_as, "surrogateescape").decode()
        except UnicodeError:
            return text
    return text
