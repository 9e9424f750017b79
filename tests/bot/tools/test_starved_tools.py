"""Where the machine gives a tool no thread, no file or no room, nothing of it is left in doubt."""

from __future__ import annotations

import errno
import os
import resource
import tempfile
import threading
from dataclasses import replace
from io import FileIO
from pathlib import Path

import pytest

from bot.tools import program, standard_input, webhook
from bot.tools.leftovers import Leftovers
from bot.tools.python import MOST_AT_ONCE, PythonTool
from lifecycle.calls.calling import call_tool
from lifecycle.proposal import Outcome
from tests.bot.tools.shell import Shell, outcome_of
from tests.contracts.tool_contract import call

NOWHERE = "/nowhere/at/all"


@pytest.fixture
def no_threads(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """A machine that starts no more threads, until it is undone."""

    def refused(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refused)
    return monkeypatch


async def test_a_program_that_nobody_could_watch_is_not_begun(
    tmp_path: Path, no_threads: pytest.MonkeyPatch
) -> None:
    result = await outcome_of("touch begun", tmp_path)

    assert result.outcome is Outcome.FAILED
    assert "this machine starts no more threads" in result.explanation
    assert not (tmp_path / "begun").exists()

    no_threads.undo()
    assert (await outcome_of("touch begun", tmp_path)).outcome is Outcome.DONE


async def test_no_folder_for_passing_files_keeps_a_program_from_its_call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", NOWHERE)

    result = await outcome_of("cat > told", tmp_path)

    assert result.outcome is Outcome.DONE
    assert '"verb"' in (tmp_path / "told").read_text()


async def test_a_program_for_which_no_file_can_be_opened_has_failed_and_is_said_to_lack_that(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was said that no temporary folder is usable: nobody raises a limit for that."""
    monkeypatch.setattr(tempfile, "tempdir", None)
    had = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (3, had[1]))
    try:
        result = await outcome_of("touch begun", tmp_path)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, had)

    assert result.outcome is Outcome.FAILED
    assert "could not be started (Too many open files)" in result.explanation
    assert not (tmp_path / "begun").exists()


@pytest.mark.parametrize("refusal", [PermissionError(errno.EACCES, "Permission denied"), None])
async def test_a_system_without_files_in_memory_hands_the_call_on_by_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, refusal: OSError | None
) -> None:
    """macOS has none, and a Linux may refuse them to all."""

    def refused(*_: object) -> int:
        assert refusal is not None
        raise refusal

    monkeypatch.setattr(os, "memfd_create", refused, raising=False)
    if refusal is None:
        monkeypatch.delattr(os, "memfd_create")

    result = await outcome_of("cat > told", tmp_path)

    assert result.outcome is Outcome.DONE
    assert '"verb"' in (tmp_path / "told").read_text()


async def test_a_program_that_has_begun_has_not_failed_because_its_call_cannot_be_let_go_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A disk over the network may tell of its trouble when a file is closed."""

    class Complains(FileIO):
        def close(self) -> None:
            was_open = not self.closed
            super().close()
            if was_open:
                raise OSError(errno.EDQUOT, "Disk quota exceeded")

    monkeypatch.delattr(os, "memfd_create", raising=False)
    monkeypatch.setattr(standard_input, "TemporaryFile", lambda: Complains(tmp_path / "call", "w+"))

    result = await outcome_of("cat > told", tmp_path)

    assert result.outcome is Outcome.DONE
    assert '"verb"' in (tmp_path / "told").read_text()


async def test_a_program_that_has_begun_has_not_failed_because_its_mark_cannot_be_let_go_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It went on unwatched, told as one that was never started."""
    marked, close = Leftovers(tmp_path / "running"), os.close

    def complains(descriptor: int) -> None:
        of_a_mark = str(tmp_path / "running") in str(Path(f"/dev/fd/{descriptor}").resolve())
        close(descriptor)
        if of_a_mark:
            raise OSError(errno.EIO, "Input/output error")

    place = program.Place(tmp_path, os.environ, marked)
    with monkeypatch.context() as patched:
        patched.setattr(os, "close", complains)
        ended = await program.run(["sh", "-c", "touch begun"], b"", place, 10)
        with pytest.raises(FileNotFoundError):
            await program.run(["/nowhere/at/all"], b"", place, 10)

    assert (ended.code, (tmp_path / "begun").exists()) == (0, True)
    assert list((tmp_path / "running").iterdir()) == []


async def test_why_a_program_was_not_started_is_said_in_the_words_of_the_system(
    tmp_path: Path,
) -> None:
    bench = Shell("exit 0", tmp_path / "gone")

    result = await call_tool(bench.tool, call(bench, "execute"))

    assert result.outcome is Outcome.FAILED
    assert "could not be started (No such file or directory)" in result.explanation
    for thread in threading.enumerate():
        if thread.name == "signoff-program":
            thread.join(20)
            assert not thread.is_alive(), "whoever was to watch it waits for ever"


class Counts:
    """A class of an operator's own, with a method that needs a thread."""

    def execute(self, call: object) -> dict[str, int]:
        return {"counted": 1}


async def test_calls_that_found_no_thread_take_no_place_from_later_ones(
    tmp_path: Path, no_threads: pytest.MonkeyPatch
) -> None:
    bench = Shell("exit 0", tmp_path)
    tool = PythonTool({"class": f"{__name__}:Counts"}, tmp_path, {})
    asked = replace(call(bench, "execute"), limit_s=20)

    found = [await call_tool(tool, asked) for _ in range(MOST_AT_ONCE + 1)]
    no_threads.undo()

    assert {result.outcome for result in found} == {Outcome.FAILED}
    assert all("starts no more threads" in result.explanation for result in found)
    assert (await call_tool(tool, asked)).receipt == {"counted": 1}


async def test_a_webhook_whose_certificates_cannot_be_read_has_sent_nothing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    webhook._trust.cache_clear()
    monkeypatch.setenv("SSL_CERT_FILE", NOWHERE)
    tool = webhook.WebhookTool({"url": "https://127.0.0.1:1/deploy"}, {}, lambda: 0)

    result = await call_tool(tool, call(Shell("", tmp_path), "execute"))

    assert result.outcome is Outcome.FAILED
    assert "the certificates cannot be read (No such file or directory)" in result.explanation
    assert "SSL_CERT_FILE" in result.explanation
