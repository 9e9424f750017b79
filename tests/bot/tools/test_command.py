"""A program is called with JSON, and how it ends is what it did (design section 7)."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from types import MappingProxyType

import pytest

from bot.tools.command import CommandTool
from bot.tools.leftovers import Leftovers
from lifecycle.calls.calling import call_tool
from lifecycle.proposal import Outcome
from tests.bot.tools.shell import Shell, outcome_of
from tests.contracts.tool_contract import Kind, ToolContract, call, done

COUNTER = """
import hashlib, json, pathlib, sys
call = json.load(sys.stdin)
if "version" not in call["parameters"]:
    print("version is missing", file=sys.stderr)
    sys.exit(10)
state = pathlib.Path("state"); state.mkdir(exist_ok=True)
verb, name = sys.argv[1], hashlib.sha256(call["proposal_id"].encode()).hexdigest()
(staged, live) = (state / (name + ".staged"), state / (name + ".live"))
if verb == "execute":
    (staged if DEFERRED else live).write_text("x")
elif verb == "commit":
    staged.exists() and staged.rename(live)
else:
    staged.unlink(missing_ok=True); live.unlink(missing_ok=True)
print(json.dumps({"name": name}))
"""


class CommandBench:
    parameters = MappingProxyType({"version": "1"})
    failing = MappingProxyType({})

    def __init__(self, folder: Path, *verbs: str) -> None:
        self.folder = folder
        deferred = "commit" in verbs
        program = COUNTER.replace("DEFERRED", str(deferred))
        (folder / "counter.py").write_text(program)
        settings = {verb: [sys.executable, "counter.py", verb] for verb in ("execute", *verbs)}
        self.tool = CommandTool(settings, folder, os.environ, Leftovers(None))

    def acts(self) -> int:
        return len(list(self.folder.glob("state/*.live")))

    def staged(self) -> int:
        return len(list(self.folder.glob("state/*.staged")))


class TestDeferred(ToolContract):
    kind = Kind(reversible=True, deferred=True, idempotent=True)

    @pytest.fixture
    def bench(self, tmp_path):
        return CommandBench(tmp_path, "roll_back", "commit")


class TestCompensated(ToolContract):
    kind = Kind(reversible=True, deferred=False, idempotent=True)

    @pytest.fixture
    def bench(self, tmp_path):
        return CommandBench(tmp_path, "roll_back")


class TestOneWay(ToolContract):
    kind = Kind(reversible=False, deferred=False, idempotent=True)

    @pytest.fixture
    def bench(self, tmp_path):
        return CommandBench(tmp_path)


async def test_the_program_is_given_the_call_and_nothing_more(tmp_path):
    bench = Shell("cat", tmp_path)

    result = await done(bench, "execute")

    assert dict(result.receipt) == {
        "verb": "execute",
        "proposal_id": "p1",
        "digest": "sha256:aa",
        "idempotency_key": "p1:execute:1",
        "tool": "the-tool",
        "target": {"resource_type": "x", "resource_id": "y", "domain": "z", "constraints": {}},
        "parameters": {"n": 1},
        "receipt": None,
    }


async def test_the_environment_is_path_home_lang_and_what_the_tool_names(tmp_path):
    around = {"PATH": os.environ["PATH"], "HOME": "/h", "LANG": "C", "SECRET": "s", "MINE": "m"}
    show = "import json,os;print(json.dumps(dict(os.environ)))"
    tool = CommandTool(
        {"execute": [sys.executable, "-c", show], "env": ["MINE", "ABSENT"]},
        tmp_path,
        around,
        Leftovers(None),
    )

    receipt = await tool.execute(call(Shell("", tmp_path), "execute"))

    assert receipt.keys() - {"LC_CTYPE"} == {"PATH", "HOME", "LANG", "MINE"}


async def test_paths_are_relative_to_the_folder_of_the_config(tmp_path):
    (tmp_path / "here").write_text("")

    assert (await outcome_of("test -f here", tmp_path)).outcome is Outcome.DONE


async def test_arguments_are_no_shell_text(tmp_path):
    bench = Shell("", tmp_path, execute=["printf", '{"a":"%s"}', "$(id); rm -rf *"])

    assert (await done(bench, "execute")).receipt == {"a": "$(id); rm -rf *"}


@pytest.mark.parametrize(
    ("line", "outcome"),
    [
        ("exit 0", Outcome.DONE),
        ("exit 10", Outcome.FAILED),
        ("exit 1", Outcome.UNKNOWN),
        ("exit 11", Outcome.UNKNOWN),
        ("kill -9 $$", Outcome.UNKNOWN),
        ("kill -TERM $$", Outcome.UNKNOWN),
        ("echo not json", Outcome.DONE),
        ("echo '[1]'", Outcome.DONE),
        ("exec <&- >&- 2>&-", Outcome.DONE),
    ],
)
async def test_the_exit_code_says_how_it_ended(tmp_path, line, outcome):
    assert (await outcome_of(line, tmp_path)).outcome is outcome


async def test_people_are_told_how_a_program_ended(tmp_path):
    result = await outcome_of("exit 3", tmp_path)

    assert result.explanation == ("the-tool: it ended with exit code 3; what it did is not known.")


async def test_a_program_that_does_not_exist_has_done_nothing(tmp_path):
    bench = Shell("", tmp_path, execute=["./nowhere"])

    result = await call_tool(bench.tool, call(bench, "execute"))

    assert result.outcome is Outcome.FAILED
    assert "nowhere" in result.explanation


async def test_a_file_that_may_not_be_run_has_done_nothing(tmp_path):
    (tmp_path / "plain").write_text("x")
    bench = Shell("", tmp_path, execute=["./plain"])

    assert (await call_tool(bench.tool, call(bench, "execute"))).outcome is Outcome.FAILED


async def test_more_than_a_mebibyte_of_output_is_no_receipt(tmp_path):
    result = await outcome_of("printf '{\"a\":\"'; yes | head -c 2000000; printf '\"}'", tmp_path)

    assert (result.outcome, result.receipt) == (Outcome.DONE, {})


async def test_a_call_larger_than_a_pipe_arrives_whole_even_unread(tmp_path):
    bench = Shell("cat", tmp_path)
    bench.parameters = {"text": "x" * 60_000}
    assert (await done(bench, "execute")).receipt["parameters"] == bench.parameters

    unread = Shell("exit 0", tmp_path)
    unread.parameters = {"text": "x" * 60_000}
    await done(unread, "execute")


async def test_a_program_that_ended_while_the_process_was_stopped_has_given_its_receipt(
    tmp_path, stopped_for
):
    os.mkfifo(tmp_path / "go")
    calling = asyncio.create_task(outcome_of("read x < go; echo '{\"id\": 7}'", tmp_path))
    await asyncio.to_thread((tmp_path / "go").write_text, "on\n")
    stopped_for(90)

    result = await calling

    assert (result.outcome, result.receipt) == (Outcome.DONE, {"id": 7})


async def test_a_program_that_began_and_cannot_be_listened_to_may_have_acted(tmp_path, monkeypatch):
    loop = asyncio.get_running_loop()

    async def refuses(*args):
        raise OSError("too many open files")

    monkeypatch.setattr(loop, "connect_read_pipe", refuses)

    assert (await outcome_of("true", tmp_path)).outcome is Outcome.UNKNOWN


@pytest.mark.parametrize(
    "line",
    [
        'echo undoing; echo \'{"still_stands": ["a mail"]}\'',
        "head -c 1100000 /dev/zero | tr '\\0' a",
        "setsid sleep 30 & sleep 0.3",
        'setsid sleep 30 & sleep 0.3; echo \'{"still_stands": ["a mail"\'',
    ],
)
async def test_what_still_stands_is_unknown_where_it_cannot_be_read(tmp_path, line):
    bench = Shell("true", tmp_path, roll_back=["sh", "-c", line])

    result = await call_tool(bench.tool, call(bench, "roll_back", {}))

    assert result.outcome is Outcome.UNKNOWN


async def test_what_a_program_said_counts_though_what_it_left_running_could_say_more(tmp_path):
    line = """setsid sleep 30 & sleep 0.3; echo '{"affected_records": 9, "still_stands": ["x"]}'"""
    bench = Shell(line, tmp_path, roll_back=["sh", "-c", line])

    executed = await done(bench, "execute")
    failed = await outcome_of("setsid sleep 30 & sleep 0.3; echo no page >&2; exit 10", tmp_path)

    assert executed.receipt["affected_records"] == 9
    assert (await done(bench, "roll_back", executed.receipt)).still_stands == ("x",)
    assert "no page" in failed.explanation


async def test_a_roll_back_that_prints_nothing_leaves_nothing(tmp_path):
    bench = Shell("true", tmp_path, roll_back=["true"])

    assert (await done(bench, "roll_back", {})).still_stands == ()
