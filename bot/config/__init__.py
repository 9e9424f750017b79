"""This package reads config.yaml, checks it whole, and makes the Policy and the bot's settings."""

from __future__ import annotations

from bot.config.load import Config, load_config, load_what_is_needed
from bot.config.problems import ConfigInvalid, Problem

__all__ = ["Config", "ConfigInvalid", "Problem", "load_config", "load_what_is_needed"]
