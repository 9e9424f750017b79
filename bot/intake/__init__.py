"""This package has the doors by which documents arrive besides the chats."""

from __future__ import annotations
