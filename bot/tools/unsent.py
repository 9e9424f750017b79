"""Keeps what a call has not sent by its end from being sent after it.

A connection that is closed goes on sending what the other side was too slow to take, or what a
broken line kept away, for minutes, and also once the process is dead. By then a person may have
settled that nothing happened, and taken the action back or proposed it anew.

`smtp.py` and `webhook.py` call this on the event loop.
"""

from __future__ import annotations

import socket
import struct
from contextlib import suppress
from typing import Any, Final

_LINGER: Final = (socket.SOL_SOCKET, socket.SO_LINGER)
#: An option of a socket: closing it drops what is not sent, and tells the other side so (RST).
DROPPED: Final = (*_LINGER, struct.pack("ii", 1, 0))
_SENT: Final = (*_LINGER, struct.pack("ii", 0, 0))


def drop_at_the_end(connection: Any) -> None:
    """Have a socket drop what is not sent when it is closed, or when the process dies."""
    _set(connection, DROPPED)


def close_as_usual(connection: Any) -> None:
    """Have a socket closed as any other, because the other side has answered."""
    _set(connection, _SENT)


def _set(connection: Any, option: tuple[int, int, bytes]) -> None:
    """`connection` is a socket, or None where a connection has none or is gone."""
    if connection is not None:
        with suppress(OSError):  # closed by now
            connection.setsockopt(*option)
