"""Slack: where people sign off, in Block Kit, over Socket Mode or signed HTTP events."""
