"""A tool repeats a secret that its config hands to it: nobody reads that (case M08)."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bot.tools.command import CommandTool
from bot.tools.handed import secrets_in_env
from bot.tools.leftovers import Leftovers
from bot.tools.python import PythonTool
from bot.views import show
from lifecycle.ports import Call, Tool, ToolDoubtful
from lifecycle.proposal import Attention
from tests.builders import MAIL
from tests.fakes.tools import NotingTool
from tests.world import World

SEND = "send-email"
TOKEN = "plain-looking-words"
WHERE = "https://crm.shop.example/v2"
ENVIRONMENT = {"PATH": os.environ["PATH"], "CRM_TOKEN": TOKEN, "CRM_URL": WHERE, "API_KEY": "short"}
NAMED = ["CRM_TOKEN", "CRM_URL", "API_KEY", "NOT_SET_TOKEN"]
PROGRAM = """
import json, os
told = {name: os.environ[name] for name in ("CRM_TOKEN", "CRM_URL", "API_KEY")}
stands = [f"{told['CRM_TOKEN']} is still in force"]
print(json.dumps({"wrote": [f"with {each}" for each in told.values()], "still_stands": stands}))
"""


class Repeats:
    """A class whose answer repeats what its config names in `env`."""

    reversible = True

    def execute(self, call: Any) -> dict[str, Any]:
        return {"wrote": [f"with {each}" for each in (TOKEN, WHERE, "short")]}

    def roll_back(self, call: Any) -> dict[str, Any]:
        return {"still_stands": [f"{TOKEN} is still in force"]}


def a_program(folder: Path) -> Tool:
    argv = [sys.executable, "-c", PROGRAM]
    settings = {"execute": argv, "roll_back": argv, "env": NAMED}
    return CommandTool(settings, folder, ENVIRONMENT, Leftovers(None))


def a_class(folder: Path) -> Tool:
    return PythonTool({"class": f"{__name__}:Repeats", "env": NAMED}, folder, ENVIRONMENT)


@pytest.mark.parametrize("made", [a_program, a_class])
async def test_nobody_reads_a_secret_that_a_tool_was_handed_and_repeats(
    world: World, made: Callable[[Path], NotingTool], tmp_path: Path
) -> None:
    world.toolbox.tools[SEND] = made(tmp_path)
    await world.submits(MAIL, proposal_id="p1")
    await world.approves("ana", "p1")
    done = await world.proposal("p1")
    await world.rejects("ana", "p1")
    left = await world.proposal("p1")

    assert done.execution is not None
    assert done.execution.receipt is not None
    assert done.execution.receipt["wrote"][0] == f"with {TOKEN}", "a roll back is handed it whole"
    masked = f"‹secret, {len(TOKEN)} characters›"
    assert done.frame is not None
    assert done.frame["value"]["wrote"] == [f"with {masked}", f"with {WHERE}", "with short"]
    assert left.attention is Attention.ROLLBACK_INCOMPLETE
    assert f"What stands: {masked} is still in force." in left.attention_why


@pytest.mark.parametrize(
    ("value", "repeated"),
    [
        (f"{TOKEN}\n", TOKEN),
        (f" {TOKEN} ", TOKEN),
        ("Bearer plain-looking-1", "plain-looking-1"),
        ("first line\nanother line\n", "first line\nanother line"),
    ],
)
async def test_a_secret_is_masked_as_a_tool_uses_it(
    world: World, tmp_path: Path, value: str, repeated: str
) -> None:
    """Files and vaults end a value with a line break, and tools take that off."""
    told = f"import json; print(json.dumps({{'wrote': {f'as {repeated}!'!r}}}))"
    settings = {"execute": [sys.executable, "-c", told], "env": ["CRM_TOKEN"]}
    environment = ENVIRONMENT | {"CRM_TOKEN": value}
    world.toolbox.tools[SEND] = CommandTool(settings, tmp_path, environment, Leftovers(None))
    await world.submits(MAIL, proposal_id="p1")
    await world.approves("ana", "p1")

    frame = (await world.proposal("p1")).frame
    assert frame is not None
    assert frame["value"]["wrote"] == f"as ‹secret, {len(repeated)} characters›!"


class TakesSomeBack:
    """Says each time what stands still, and that is less each time."""

    reversible = True

    def __init__(self) -> None:
        self.left = ["b", "a"]

    def secrets_handed(self) -> tuple[str, ...]:
        return (TOKEN,)

    async def execute(self, call: Any) -> dict[str, Any]:
        return {}

    async def roll_back(self, call: Any) -> dict[str, Any]:
        return {"still_stands": [f"{TOKEN} in {self.left.pop()}"]}


class Vague:
    """Made anew without the secret: the config hands it none any more."""

    reversible = True

    async def execute(self, call: Any) -> dict[str, Any]:
        return {}

    async def roll_back(self, call: Any) -> dict[str, Any]:
        assert TOKEN in str(call.receipt["still_stands"]), "it is handed what it said"
        raise ToolDoubtful("no answer")


async def test_what_still_stands_is_told_later_without_it(world: World, tmp_path: Path) -> None:
    """`show --json` printed it, and so did the announcement once a person had settled the call."""
    world.toolbox.tools[SEND] = a_program(tmp_path)
    await world.submits(MAIL, proposal_id="p1")
    await world.approves("ana", "p1")
    await world.rejects("ana", "p1")
    left = await shown(world)
    world.toolbox.tools[SEND] = Vague()
    await world.workflow.retry("p1", world.sender("ana"))
    await world.workflow.idle()
    await world.workflow.settle("p1", world.sender("ana"), False)
    settled = await shown(world)

    for each in (left, settled):
        told = [f"‹secret, {len(TOKEN)} characters› is still in force"]
        assert each["attention"] == Attention.ROLLBACK_INCOMPLETE
        assert each["execution"]["still_stands"] == told
        assert f"What stands: {told[0]}." in each["attention_why"]


async def test_what_still_stands_is_told_later_as_the_tool_said_last(world: World) -> None:
    world.toolbox.tools[SEND] = TakesSomeBack()
    await world.submits(MAIL, proposal_id="p1")
    await world.approves("ana", "p1")
    await world.rejects("ana", "p1")
    await world.workflow.retry("p1", world.sender("ana"))
    await world.workflow.idle()

    left = await shown(world)

    assert left["execution"]["still_stands"] == [f"‹secret, {len(TOKEN)} characters› in b"]


async def test_what_still_stands_is_not_shown_where_nobody_knows_what_of_it_is_secret(
    on_disk: World, forged: Any
) -> None:
    world = on_disk
    world.toolbox.tools[SEND] = TakesSomeBack()
    await world.submits(MAIL, proposal_id="p1")
    await world.approves("ana", "p1")
    await world.rejects("ana", "p1")
    forged("UPDATE audit SET details = '{' WHERE proposal_id = 'p1' AND seq = 2")

    left = await shown(world)

    assert left["execution"]["still_stands"] == [
        "what it was cannot be shown, for the trail cannot be read"
    ]


async def shown(world: World) -> dict[str, Any]:
    """Return the proposal as `show --json` prints it, and agents read it."""
    return await world.store.read(lambda tx: show(tx, "p1", 0))


@pytest.mark.parametrize(
    ("value", "secret"),
    [
        ("1234567", set()),
        ("12345678\n", {"12345678"}),
        ("Bearer abc.d-1", {"Bearer abc.d-1"}),
        ("Bearer abc.d-12", {"Bearer abc.d-12", "abc.d-12"}),
        ("Bearer onlyletters", {"Bearer onlyletters"}),
        ("-----BEGIN KEY-----\nabc1defg2", {"-----BEGIN KEY-----\nabc1defg2"}),
    ],
)
def test_a_secret_is_its_value_and_each_word_of_its_only_line_that_is_more_than_letters(
    value: str, secret: set[str]
) -> None:
    assert set(secrets_in_env(["CRM_TOKEN"], {"CRM_TOKEN": value, "CRM_URL": WHERE})) == secret


async def test_a_long_value_is_logged_nowhere_though_its_program_takes_off_the_line_break(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    says = "import os, sys; sys.stderr.write('no ' + os.environ['CRM_URL'].strip()); sys.exit(20)"
    settings = {"execute": [sys.executable, "-c", says], "env": ["CRM_URL"]}
    tool = CommandTool(settings, tmp_path, ENVIRONMENT | {"CRM_URL": WHERE + "\n"}, Leftovers(None))
    with pytest.raises(ToolDoubtful):
        await tool.execute(Call("execute", "p1", "d", "k", SEND, {}, {}, {}, "", 1))

    assert "wrote: no " in caplog.text
    assert WHERE not in caplog.text
