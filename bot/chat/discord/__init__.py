"""Connects Discord: people sign off with ✅ and ❌, and agents propose by bot messages.

Begin at `notifier.py`. Its twin in every respect is `bot/chat/slack/`.
"""
