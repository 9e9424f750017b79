"""Defines the slash commands for people: the same words as typed ones, with ids completed.

`interactions` acknowledges them before any work.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final

import discord
from discord import app_commands

from bot.chat.commands.help import COMMANDS
from bot.chat.discord.views import proposal_form
from lifecycle.ports import StoreUnavailable
from lifecycle.workflow import Workflow

#: Runs a command's text, with files, for whoever began the interaction, and answers it.
Run = Callable[[discord.Interaction, str, list[discord.Attachment]], Awaitable[None]]

_MOST_CHOICES: Final = 25
_LOOKED_AT: Final = 200


def add_commands(tree: app_commands.CommandTree, workflow: Workflow, run: Run) -> None:
    """Put every command of the help table on the command tree of one client."""
    for name in COMMANDS:
        tree.add_command(_command(name, workflow, run))


def _command(
    name: str, workflow: Workflow, run: Run
) -> app_commands.Command[discord.app_commands.Group, ..., None]:
    does = COMMANDS[name][1][:100]
    match name:
        case "propose":
            return _propose(does, run)
        case "show" | "explain" | "audit" | "withdraw" | "retry":
            return _with_id(name, does, workflow, run)
        case "approve" | "reject" | "roll-back":
            return _deciding(name, does, workflow, run)
        case "settle":
            return _settle(does, workflow, run)
        case "evidence" | "freeze" | "rules" | "pending" | "answer" | "help":
            return _with_words(name, does, run)
        case _:
            return _bare(name, does, run)


_Command = app_commands.Command[discord.app_commands.Group, ..., None]


def _bare(name: str, does: str, run: Run) -> _Command:
    async def callback(interaction: discord.Interaction) -> None:
        await run(interaction, name, [])

    return app_commands.Command(name=name, description=does, callback=callback)


def _with_words(name: str, does: str, run: Run) -> _Command:
    @app_commands.describe(words=COMMANDS[name][0][:100])
    async def callback(interaction: discord.Interaction, words: str = "") -> None:
        await run(interaction, f"{name} {words}", [])

    return app_commands.Command(name=name, description=does, callback=callback)


def _with_id(name: str, does: str, workflow: Workflow, run: Run) -> _Command:
    @app_commands.describe(id="the proposal's id")
    async def callback(interaction: discord.Interaction, id: str) -> None:
        await run(interaction, f"{name} {id}", [])

    return _completing(
        app_commands.Command(name=name, description=does, callback=callback), workflow
    )


def _deciding(name: str, does: str, workflow: Workflow, run: Run) -> _Command:
    @app_commands.describe(id="the proposal's whole id", reason="why; its agent is told")
    async def callback(
        interaction: discord.Interaction,
        id: str,
        reason: str = "",
    ) -> None:
        await run(interaction, f"{name} {id} {reason}", [])

    return _completing(
        app_commands.Command(name=name, description=does, callback=callback), workflow
    )


def _settle(does: str, workflow: Workflow, run: Run) -> _Command:
    @app_commands.describe(id="the proposal's whole id", outcome="what became of it")
    @app_commands.choices(
        outcome=[
            app_commands.Choice(name=each, value=each) for each in ("happened", "did-not-happen")
        ]
    )
    async def callback(interaction: discord.Interaction, id: str, outcome: str) -> None:
        await run(interaction, f"settle {id} {outcome}", [])

    command: _Command = app_commands.Command(name="settle", description=does, callback=callback)
    return _completing(command, workflow)


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


def _completing(command: _Command, workflow: Workflow) -> _Command:
    """Complete the ids of open proposals."""

    async def complete(
        _interaction: discord.Interaction, current: str
    ) -> list[app_commands.Choice[str]]:
        return [
            app_commands.Choice(name=words[:100], value=proposal_id)
            for proposal_id, words in await _open_ids(workflow, current)
        ]

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
