"""Which Signoff this is."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version


def signoff_version() -> str:
    """Return the installed version, `0` where the program runs without being installed."""
    try:
        return version("signoff")
    except PackageNotFoundError:
        return "0"
