"""Connects Slack: people sign off in Block Kit, over Socket Mode or signed HTTP events.

Begin at `notifier.py`. Its twin in every respect is `bot/chat/discord/`.
"""
