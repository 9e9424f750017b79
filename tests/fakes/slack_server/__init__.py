"""A Slack-protocol server of our own: Web API, Socket Mode, signed HTTP events, scripted faults."""

from __future__ import annotations

from tests.fakes.slack_server.faults import Fault
from tests.fakes.slack_server.server import SlackServer
from tests.fakes.slack_server.workspace import User, Workspace

__all__ = ["Fault", "SlackServer", "User", "Workspace"]
