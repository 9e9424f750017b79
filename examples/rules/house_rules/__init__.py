"""Rules of our own house, for Signoff."""

from __future__ import annotations
