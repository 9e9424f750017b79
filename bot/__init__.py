"""The world around the law: config, chat, storage, jobs, tools, intake, command line."""

from __future__ import annotations
