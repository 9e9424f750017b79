"""The toolbox makes each tool from the config and tells people what it adds (design section 7)."""

from __future__ import annotations

import os

import pytest

from bot.expected import StartFailed
from bot.tools.toolbox import ConfiguredToolbox, described_by_config
from lifecycle.calls.calling import call_tool
from lifecycle.policy import ActionType, ToolKind, ToolPolicy
from lifecycle.ports import Call
from lifecycle.proposal import Outcome
from lifecycle.tier import Tier


def policy(kind: ToolKind | None, **settings) -> ToolPolicy:
    return ToolPolicy("t", Tier.CONFIRM, ActionType.EXECUTE, kind, settings=settings)


def box(folder, **tools: ToolPolicy) -> ConfiguredToolbox:
    return ConfiguredToolbox(tools, folder, os.environ, lambda: 0)


def test_a_class_that_can_be_no_tool_is_told_with_the_tool_that_it_was_for(tmp_path):
    (tmp_path / "idle_of_test.py").write_text("class Idle: ...\n")

    with pytest.raises(StartFailed, match=r"t: idle_of_test:Idle has no execute\(call\)"):
        box(tmp_path, t=policy(ToolKind.PYTHON, **{"class": "idle_of_test:Idle"}))


def test_a_tool_that_the_config_does_not_know_is_a_key_error(tmp_path):
    with pytest.raises(KeyError):
        box(tmp_path).tool("t")


@pytest.mark.parametrize("kind", [ToolKind.AGENT, None])
@pytest.mark.parametrize("verb", ["execute", "commit", "roll_back"])
async def test_a_tool_of_an_agent_or_blocked_is_never_called(tmp_path, kind, verb):
    tool = box(tmp_path, t=policy(kind)).tool("t")

    result = await call_tool(tool, Call(verb, "p1", "d", "k", "t", {}, {}, {}, "", 1))

    assert result.outcome is Outcome.FAILED


@pytest.mark.parametrize(
    ("made", "words"),
    [
        (
            policy(ToolKind.EMAIL),
            {"from": "signoff@localhost", "leaves by": "the Maildir data/outbox"},
        ),
        (
            policy(ToolKind.EMAIL, smtp={"host": "h", "port": 25, "from": "a@b.example"}),
            {"from": "a@b.example", "leaves by": "SMTP h:25"},
        ),
        (
            policy(ToolKind.WEBHOOK, url="http://h/x?y"),
            {"posts to": "http://h/x with a query that is not shown"},
        ),
        (
            policy(ToolKind.COMMAND, execute=["run", "--password", "hunter2"]),
            {"runs": "run --password ‹secret, 7 characters›"},
        ),
        (policy(ToolKind.AGENT), {"carried out by": "the agent itself, with a permit"}),
        (policy(None), {}),
    ],
)
def test_people_are_told_what_the_config_adds_without_secrets(tmp_path, made, words):
    assert box(tmp_path, t=made).describe("t") == words


@pytest.mark.parametrize(
    ("made", "words"),
    [
        (
            policy(ToolKind.COMMAND, execute=["stage"], commit=["send", "--all"], roll_back=["no"]),
            {"runs": "stage", "commits with": "send --all"},
        ),
        (
            policy(ToolKind.PYTHON, **{"class": "shop:Pay", "options": {"account": "live"}}),
            {"runs": "shop:Pay", "with": {"account": "live"}},
        ),
        (
            policy(ToolKind.PYTHON, **{"class": "shop:Pay", "options": {"password": "hunter2x"}}),
            {"runs": "shop:Pay", "with": {"password": "‹secret, 8 characters›"}},
        ),
        (policy(ToolKind.PYTHON, **{"class": "shop:Pay", "options": {}}), {"runs": "shop:Pay"}),
    ],
)
def test_people_are_told_all_that_will_run_and_with_what(made, words):
    assert described_by_config(made) == words


def test_a_real_path_follows_every_link_from_the_folder_of_the_config(tmp_path):
    (tmp_path / "inside").mkdir()
    (tmp_path / "inside" / "link").symlink_to("/etc")
    toolbox = box(tmp_path)

    assert toolbox.real_path("inside/link/passwd") == os.path.realpath("/etc/passwd")
    assert toolbox.real_path("inside/../inside/a") == str(tmp_path.resolve() / "inside" / "a")


def test_a_policy_whose_tools_cannot_be_made_leaves_the_old_ones(tmp_path):
    toolbox = box(tmp_path, old=policy(None))

    with pytest.raises(ValueError, match="nowhere"):
        toolbox.prepared({"new": policy(ToolKind.PYTHON, **{"class": "nowhere:X"})})

    assert toolbox.tool("old") is not None
    with pytest.raises(KeyError):
        toolbox.tool("new")


@pytest.mark.parametrize(
    ("options", "lives_on"),
    [
        ({"then": {"b": 2, "a": 1}, "first": 1}, True),
        ({"first": True, "then": {"a": 1, "b": 2}}, False),
        ({"first": 1, "then": {"a": 1, "b": 3}}, False),
    ],
)
def test_a_class_lives_on_as_long_as_its_options_say_the_same_in_whatever_order(
    tmp_path, options, lives_on
):
    """What it had staged was lost with the object, and nobody was told."""
    source = "class Keeps:\n    def __init__(self, **_): ...\n    def execute(self, call): ...\n"
    (tmp_path / "keeps_of_test.py").write_text(source)
    before = {"first": 1, "then": {"a": 1, "b": 2}}
    named = {"class": "keeps_of_test:Keeps"}
    toolbox = box(tmp_path, t=policy(ToolKind.PYTHON, **named, options=before))
    tool = toolbox.tool("t")

    toolbox.prepared({"t": policy(ToolKind.PYTHON, **named, options=options)})()

    assert (toolbox.tool("t") is tool) is lives_on
