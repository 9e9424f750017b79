"""Calls tools that are programs: they read the call as JSON on standard input, and print the
receipt as JSON on standard output.

Everything here runs on the event loop; only the thread that waits for the end of a program does
not (`bot/tools/program.py`).
"""

from __future__ import annotations

import json
import logging
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from bot.tools import program
from bot.tools.handed import secrets_in_env
from bot.tools.leftovers import Leftovers
from bot.tools.program import Place
from bot.tools.receipts import LARGEST_RECEIPT, receipt_in
from lifecycle.ports import Call, ToolDoubtful, ToolFailed
from lifecycle.proposal import Verb
from lifecycle.text.masking import mask_text
from lifecycle.text.quoted_secrets import mask_quoted, secrets_in

_DONE: Final = 0
_FAILED: Final = 10
#: Values with fewer characters are masked only if their name says that they are secret: they are
#: words like `production`, which a log may need.
_SHORTEST_SECRET: Final = 16
_CUT_WORD: Final = re.compile(rb"\A\S+")
_ONE_WORD: Final = b"(one word that is too long to be shown: its end may be half a credential)"
_ALWAYS_HANDED_ON: Final = ("PATH", "HOME", "LANG")

log = logging.getLogger(__name__)


class CommandTool:
    """Runs one program for each verb, without a shell and in a process group of its own (design
    section 7).

    Exit code 0 means done, and a JSON object on standard output is the receipt. Exit code 10 means
    failed with nothing left behind (ToolFailed). After any other end the outcome is unknown
    (ToolDoubtful).
    """

    def __init__(
        self,
        settings: Mapping[str, Any],
        folder: Path,
        environment: Mapping[str, str],
        leftovers: Leftovers,
    ) -> None:
        """Take the argv of each verb. Programs run in `folder`, that of the config file, where
        relative paths start."""
        verbs = ("execute", "commit", "roll_back")
        self._argv: dict[str, Sequence[str]] = {v: settings[v] for v in verbs if settings.get(v)}
        named = settings.get("env", ())
        names = (*_ALWAYS_HANDED_ON, *named)
        handed_on = {name: environment[name] for name in names if name in environment}
        handed_on.setdefault("PATH", os.defpath)
        self._place = Place(folder, handed_on, leftovers)
        self._handed = secrets_in_env(named, handed_on)
        values = {handed_on.get(name, "").strip() for name in named}
        long = (each for each in values if len(each) >= _SHORTEST_SECRET)
        self._unlogged = (*long, *self._handed)

    def secrets_handed(self) -> tuple[str, ...]:
        """Return the secrets that `env` hands on."""
        return self._handed

    async def execute(self, call: Call) -> Mapping[str, Any]:
        """Run the program for execute."""
        return await self._run("execute", call)

    async def commit(self, call: Call) -> Mapping[str, Any]:
        """Run the program for commit; without one, do nothing, because execute has done it all."""
        return await self._run("commit", call) if "commit" in self._argv else {}

    async def roll_back(self, call: Call) -> Mapping[str, Any]:
        """Run the program for roll_back. Raises ToolFailed if there is none."""
        if "roll_back" not in self._argv:
            raise ToolFailed(f"{call.tool} has no way to take anything back")
        return await self._run("roll_back", call)

    async def _run(self, verb: str, call: Call) -> Mapping[str, Any]:
        argv, told = self._argv[verb], json.dumps(call.as_json()).encode()
        try:
            ended = await program.run(argv, told, self._place, LARGEST_RECEIPT + 1)
        except (OSError, ValueError) as error:
            why = getattr(error, "strerror", None) or type(error).__name__
            raise ToolFailed(f"{argv[0]} could not be started ({why})") from error
        said = self._masked(_whole_words(ended.errors).decode(errors="replace"), call).strip()
        if said:
            level = logging.INFO if ended.code in (_DONE, _FAILED) else logging.WARNING
            log.log(level, "%s %s of %s wrote: %s", call.tool, verb, call.proposal_id, said)
        if ended.code == _FAILED:
            raise ToolFailed(said.splitlines()[-1][:200] if said else "it says it did nothing")
        if ended.code != _DONE:
            wrote = "; what it wrote is in the log" if said else ""
            raise ToolDoubtful(f"it ended with exit code {ended.code}{wrote}")
        # Exit code 0 means done, whatever was printed. If nothing was, and somebody still has the
        # output open, the receipt may have been left to them: that is not an empty receipt.
        unsaid = ended.cut and not ended.output.strip()
        receipt = None if unsaid else receipt_in(ended.output)
        if receipt is not None:
            return receipt
        log.warning("%s printed something that is no JSON object of 1 MiB at most", call.tool)
        if verb == Verb.ROLL_BACK:
            raise ToolDoubtful("what still stands cannot be read")
        return {}

    def _masked(self, text: str, call: Call) -> str:
        """Mask credentials and, whatever they look like, the values that `env` hands on and the
        credentials of the call: a program that fails often names the token that it used."""
        if not text:
            return text
        given = secrets_in([call.parameters, call.target])
        return mask_text(mask_quoted(text, (*self._unlogged, *given)))


def _whole_words(errors: bytes) -> bytes:
    """Return the kept end of standard error without its first word, if that word may be cut: half
    of a credential is not recognised, and so would not be masked."""
    if len(errors) < program.TAIL:
        return errors
    return _CUT_WORD.sub(b"", errors).strip() or _ONE_WORD
