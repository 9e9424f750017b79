"""Holds the toolbox: it makes every configured tool from its settings, and finds tools by name.

`bot/bootstrap.py` makes it at a start and changes its tools at a reload; `signoff show` makes one
with a single tool for its description.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from json import dumps
from pathlib import Path
from shlex import join
from typing import Any, assert_never

from bot.expected import StartFailed
from bot.tools.command import CommandTool
from bot.tools.email import EmailTool
from bot.tools.leftovers import Leftovers
from bot.tools.maildir import MaildirCarrier
from bot.tools.python import PythonTool
from bot.tools.smtp import SmtpCarrier
from bot.tools.uncallable import UncallableTool
from bot.tools.webhook import WebhookTool
from lifecycle.policy import ToolKind, ToolPolicy
from lifecycle.ports import Tool
from lifecycle.text.masking import mask_secrets, mask_text

_OUTBOX = "data/outbox"
_UNMARKED = Leftovers(None)


def described_by_config(policy: ToolPolicy) -> Mapping[str, Any] | None:
    """Return what a tool adds, in words for the card, if that can be told without making the tool;
    else None."""
    match policy.kind:
        case ToolKind.COMMAND:
            return dict(_programs(policy.settings))
        case ToolKind.PYTHON:
            options = policy.settings.get("options")
            return {"runs": policy.settings["class"]} | (
                {"with": mask_secrets(options)} if options else {}
            )
        case ToolKind.AGENT:
            return {"carried out by": "the agent itself, with a permit"}
        case None:
            return {}
        case ToolKind.EMAIL | ToolKind.WEBHOOK:
            return None
        case _:
            assert_never(policy.kind)


def _programs(settings: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield what a tool of kind command runs: at once, and when it commits."""
    for label, verb in (("runs", "execute"), ("commits with", "commit")):
        if argv := settings.get(verb):
            yield label, mask_text(join(argv))


class ConfiguredToolbox:
    """Implements the port Toolbox with the tools of one policy.

    The running bot uses it on the event loop, except for `prepared` at a reload and `real_path`.

    `folder` is that of the config file, where every relative path starts. Secrets and the variables
    of programs are looked up in `environment`. `now_ms` dates mails and signatures. `leftovers`
    keeps the marks of programs that run.
    """

    def __init__(
        self,
        tools: Mapping[str, ToolPolicy],
        folder: Path,
        environment: Mapping[str, str],
        now_ms: Callable[[], int],
        leftovers: Leftovers = _UNMARKED,
    ) -> None:
        """Make every tool now, so that the start fails if one cannot be made.

        Raises ValueError or StartFailed.
        """
        self._folder = folder
        self._environment = environment
        self._now_ms = now_ms
        self._leftovers = leftovers
        self._policies: Mapping[str, ToolPolicy] = {}
        self._tools: Mapping[str, Tool] = {}
        self.prepared(tools)()

    def prepared(self, tools: Mapping[str, ToolPolicy]) -> Callable[[], None]:
        """Make the tools of another policy, and return a function that puts them all in service.

        A reload runs this on a thread of its own, because the code of an operator's class may hang,
        and calls the function on the loop. Raises ValueError or StartFailed if a tool cannot be
        made.
        """
        made = {
            name: self._in_service(name, policy) or self._made(policy)
            for name, policy in tools.items()
        }

        def swap() -> None:
            self._policies, self._tools = dict(tools), made

        return swap

    def tool(self, name: str) -> Tool:
        """Return the tool; KeyError if the config does not know it."""
        return self._tools[name]

    def real_path(self, path: str) -> str:
        """Return the real path of `path`, all links followed. Raises ValueError for a NUL in it.

        Rules call this on Sentinel's workers, because a look at the disk may take long.
        """
        return os.path.realpath(self._folder / path)

    def describe(self, name: str) -> Mapping[str, Any]:
        """Return what the tool adds by config, in words for the card; no secrets."""
        tool, policy = self._tools[name], self._policies[name]
        if isinstance(tool, (EmailTool, WebhookTool)):
            return tool.describe()
        return described_by_config(policy) or {}

    def _in_service(self, name: str, policy: ToolPolicy) -> Tool | None:
        """Return the Python tool in service if its settings are the same in this policy, else None.

        It stays in service with what it has staged. It is not made again, so that it can neither
        hold up nor refuse a config that leaves it as it is.
        """
        known = self._policies.get(name)
        if known is None or not known.kind is policy.kind is ToolKind.PYTHON:
            return None
        # Written as JSON, 1 is not True, and the order in which the file names options is none.
        same = dumps(known.settings, sort_keys=True) == dumps(policy.settings, sort_keys=True)
        return self._tools[name] if same else None

    def _made(self, policy: ToolPolicy) -> Tool:
        settings = policy.settings
        match policy.kind:
            case ToolKind.EMAIL:
                return self._email(settings)
            case ToolKind.WEBHOOK:
                return WebhookTool(settings, self._environment, self._now_ms)
            case ToolKind.COMMAND:
                return CommandTool(settings, self._folder, self._environment, self._leftovers)
            case ToolKind.PYTHON:
                return self._python(policy)
            case ToolKind.AGENT:
                return UncallableTool("is carried out by its agent; Signoff does not call it")
            case None:
                return UncallableTool("is blocked; nobody calls it")
            case _:
                assert_never(policy.kind)

    def _python(self, policy: ToolPolicy) -> PythonTool:
        try:
            return PythonTool(policy.settings, self._folder, self._environment)
        except StartFailed as error:
            raise StartFailed(f"{policy.name}: {error}") from error

    def _email(self, settings: Mapping[str, Any]) -> EmailTool:
        smtp = settings.get("smtp")
        if smtp is None:
            carrier = MaildirCarrier(self._folder / _OUTBOX, _OUTBOX)
            return EmailTool(settings.get("from"), carrier, self._folder, self._now_ms)
        return EmailTool(
            smtp["from"], SmtpCarrier(smtp, self._environment), self._folder, self._now_ms
        )
