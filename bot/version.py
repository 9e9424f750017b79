"""This module says which version of Signoff is installed."""

from __future__ import annotations

from functools import cache
from importlib.metadata import PackageNotFoundError, version


@cache
def signoff_version() -> str:
    """Return the installed version, `0` if the program runs without being installed.

    It is looked up once: that reads a file, and strangers may ask as often as they like.
    """
    try:
        return version("signoff")
    except PackageNotFoundError:
        return "0"
