"""A Discord server of our own: REST and gateway over real sockets, as far as a real client needs.

Faults are scripted, calls are recorded, and people act by methods: `user_reacts`, `says`, ….
"""

from __future__ import annotations

from tests.fakes.discord_server.faults import Fault
from tests.fakes.discord_server.server import DiscordServer

__all__ = ["DiscordServer", "Fault"]
