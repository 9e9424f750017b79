"""Which Signoff this is."""

from __future__ import annotations

from functools import cache
from importlib.metadata import PackageNotFoundError, version


@cache
def signoff_version() -> str:
    """Return the installed version, `0` where the program runs without being installed.

    Looked up once: it stands in a file, and strangers may ask for it as often as they like.
    """
    try:
        return version("signoff")
    except PackageNotFoundError:
        return "0"
