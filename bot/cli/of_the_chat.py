"""This module tells whoever typed a command of the chat into the shell where it belongs.

The other way round, the prompt does the same (`bot/chat/terminal/elsewhere.py`).
"""

from __future__ import annotations

from typing import Any, Final

from typer.core import TyperGroup

_WHERE: Final = (
    "{0!r} is a command of the chat, not of the shell: type it where the bot hears you, or at the "
    "prompt that `signoff run` opens."
)


class ShellCommands(TyperGroup):
    """The commands of the shell. To a command of the chat none of them is likened.

    typer would suggest the nearest name, as `thaw` for `withdraw` or `restore` for `retry`, which
    do something else altogether.
    """

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find the command; ends with a usage error if there is none.

        `ctx` is click's context, whose type is another one in each version of typer.
        """
        if args and args[0] not in self.commands:
            from bot.chat.commands.help import COMMANDS

            if args[0] == "help":
                ctx.fail("The commands of the shell are listed by: signoff --help")
            if args[0] in COMMANDS:
                ctx.fail(_WHERE.format(args[0]))
        return super().resolve_command(ctx, args)
