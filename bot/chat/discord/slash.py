"""Defines the slash commands for people: the same words as typed ones, with ids completed.

`interactions` acknowledges them before any work.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Final

import discord
from discord import app_commands

from bot.chat.commands.help import COMMANDS
from bot.chat.discord.views import proposal_form
from lifecycle.ports import StoreUnavailable
from lifecycle.workflow import Workflow

#: Runs a command's text, with files, for whoever began the interaction, and answers it.
Run = Callable[[discord.Interaction, str, list[discord.Attachment]], Awaitable[None]]
#: Says whether an interaction was begun where commands are read.
Here = Callable[[discord.Interaction], bool]

_Command = app_commands.Command[discord.app_commands.Group, ..., None]
_Complete = Callable[
    [discord.Interaction, str], Coroutine[Any, Any, list[app_commands.Choice[str]]]
]

_MOST_CHOICES: Final = 25
_LOOKED_AT: Final = 200


def add_commands(tree: app_commands.CommandTree, workflow: Workflow, run: Run, here: Here) -> None:
    """Put every command of the help table on the command tree of one client.

    Ids are completed `here` alone: Discord offers the commands in every channel of the server, also
    to people who may not see the cards.
    """

    async def complete(
        interaction: discord.Interaction, current: str
    ) -> list[app_commands.Choice[str]]:
        found = await _open_ids(workflow, current) if here(interaction) else []
        return [app_commands.Choice(name=words[:100], value=each) for each, words in found]

    for name in COMMANDS:
        tree.add_command(_command(name, complete, run))


def _command(name: str, complete: _Complete, run: Run) -> _Command:
    does = COMMANDS[name][1][:100]
    match name:
        case "propose":
            return _propose(does, run)
        case "show" | "explain" | "audit" | "withdraw" | "retry":
            return _with_id(name, does, complete, run)
        case "approve" | "reject" | "roll-back":
            return _deciding(name, does, complete, run)
        case "settle":
            return _settle(does, complete, run)
        case "evidence" | "freeze" | "rules" | "pending" | "answer" | "help":
            return _with_words(name, does, run)
        case _:
            return _bare(name, does, run)


def _bare(name: str, does: str, run: Run) -> _Command:
    async def callback(interaction: discord.Interaction) -> None:
        await run(interaction, name, [])

    return app_commands.Command(name=name, description=does, callback=callback)


def _with_words(name: str, does: str, run: Run) -> _Command:
    @app_commands.describe(words=COMMANDS[name][0][:100])
    async def callback(interaction: discord.Interaction, words: str = "") -> None:
        await run(interaction, f"{name} {words}", [])

    return app_commands.Command(name=name, description=does, callback=callback)


def _with_id(name: str, does: str, complete: _Complete, run: Run) -> _Command:
    @app_commands.describe(id="the proposal's id")
    async def callback(interaction: discord.Interaction, id: str) -> None:
        await run(interaction, f"{name} {id}", [])

    return _completing(
        app_commands.Command(name=name, description=does, callback=callback), complete
    )


def _deciding(name: str, does: str, complete: _Complete, run: Run) -> _Command:
    @app_commands.describe(id="the proposal's whole id", reason="why; its agent is told")
    async def callback(
        interaction: discord.Interaction,
        id: str,
        reason: str = "",
    ) -> None:
        await run(interaction, f"{name} {id} {reason}", [])

    return _completing(
        app_commands.Command(name=name, description=does, callback=callback), complete
    )


def _settle(does: str, complete: _Complete, run: Run) -> _Command:
    @app_commands.describe(id="the proposal's whole id", outcome="what became of it")
    @app_commands.choices(
        outcome=[
            app_commands.Choice(name=each, value=each) for each in ("happened", "did-not-happen")
        ]
    )
    async def callback(interaction: discord.Interaction, id: str, outcome: str) -> None:
        await run(interaction, f"settle {id} {outcome}", [])

    command: _Command = app_commands.Command(name="settle", description=does, callback=callback)
    return _completing(command, complete)


def _propose(does: str, run: Run) -> _Command:
    @app_commands.describe(json="one JSON object; leave out for a form", file="or one .json file")
    async def callback(
        interaction: discord.Interaction,
        json: str = "",
        file: discord.Attachment | None = None,
    ) -> None:
        if not json and file is None:
            await interaction.response.send_modal(proposal_form())
            return
        await run(interaction, f"propose {json}", [] if file is None else [file])

    return app_commands.Command(name="propose", description=does, callback=callback)


def _completing(command: _Command, complete: _Complete) -> _Command:
    """Complete the ids of open proposals."""
    command.autocomplete("id")(complete)
    return command


async def _open_ids(workflow: Workflow, begun: str) -> list[tuple[str, str]]:
    try:
        found = await workflow.world.store.read(
            lambda tx: [
                *tx.proposals.waiting(0, _LOOKED_AT),
                *tx.proposals.executing(0, _LOOKED_AT),
            ]
        )
    except StoreUnavailable:
        return []
    return [
        (each.proposal_id, f"{each.proposal_id} · {each.tool} · {each.actor.id} · {each.state}")
        for each in found
        if each.proposal_id.startswith(begun)
    ][:_MOST_CHOICES]
