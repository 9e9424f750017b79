"""A disk that takes what is written and then fails to confirm it."""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import struct
import tempfile
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

#: The numbers of fsync and fdatasync, by machine.
_CALLS: Final = {"x86_64": (74, 75), "aarch64": (82, 83)}
_NO_NEW_PRIVILEGES, _SECCOMP, _FILTER = 38, 22, 2
_LOAD, _JUMP_IF_EQUAL, _RETURN = 0x20, 0x15, 0x06
_ALLOW, _FAIL = 0x7FFF0000, 0x00050000


def can_be_unconfirmed() -> bool:
    """Return True if this machine can do it: a Linux that sets filters, which hold for one thread.

    It is tried, because what a container may do is not known from its name.
    """
    if platform.system() != "Linux" or platform.machine() not in _CALLS:
        return False
    with ThreadPoolExecutor(1) as thread, tempfile.TemporaryFile() as file:
        return thread.submit(_fails_to_confirm, file.fileno()).result()


def _fails_to_confirm(file: int) -> bool:
    try:
        confirm_nothing()
    except OSError:
        return False
    try:
        os.fsync(file)
    except OSError as error:
        return error.errno == errno.EIO
    return False


def confirm_nothing(*_: Any) -> None:
    """Let fsync and fdatasync fail with EIO on this thread, as long as it lives. Raises OSError."""
    first, second = _CALLS[platform.machine()]
    steps = [
        (_LOAD, 0, 0, 0),  # the number of the call
        (_JUMP_IF_EQUAL, 1, 0, first),
        (_JUMP_IF_EQUAL, 0, 1, second),
        (_RETURN, 0, 0, _FAIL | errno.EIO),
        (_RETURN, 0, 0, _ALLOW),
    ]
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in steps))
    program = ctypes.create_string_buffer(struct.pack("HP", len(steps), ctypes.addressof(code)))
    call = ctypes.CDLL(None, use_errno=True).prctl
    zero = ctypes.c_ulong(0)
    if call(_NO_NEW_PRIVILEGES, ctypes.c_ulong(1), zero, zero, zero) or call(
        _SECCOMP, ctypes.c_ulong(_FILTER), program, zero, zero
    ):
        raise OSError(ctypes.get_errno(), "this system sets no filter")
