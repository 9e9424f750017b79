"""Where the machine gives a tool no thread, no file or no room, nothing of it is left in doubt."""

from __future__ import annotations

import tempfile
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from bot.tools import webhook
from bot.tools.python import MOST_AT_ONCE, PythonTool
from lifecycle.calling import call_tool
from lifecycle.proposal import Outcome
from tests.bot.tools.mailing import MaildirBench, pieces
from tests.bot.tools.shell import Shell, outcome_of
from tests.contracts.tool_contract import call, done

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


async def test_why_a_program_was_not_started_is_said_in_the_words_of_the_system(
    tmp_path: Path,
) -> None:
    bench = Shell("exit 0", tmp_path / "gone")

    result = await call_tool(bench.tool, call(bench, "execute"))

    assert result.outcome is Outcome.FAILED
    assert "could not be started (No such file or directory)" in result.explanation


class Counts:
    """A class of an operator's own, with a method that needs a thread."""

    def execute(self, call: object) -> dict[str, int]:
        return {"counted": 1}


async def test_calls_that_found_no_thread_take_no_place_from_later_ones(
    tmp_path: Path, no_threads: pytest.MonkeyPatch
) -> None:
    bench = Shell("exit 0", tmp_path)
    tool = PythonTool({"class": f"{__name__}:Counts"}, tmp_path)
    asked = replace(call(bench, "execute"), limit_s=20)

    found = [await call_tool(tool, asked) for _ in range(MOST_AT_ONCE + 1)]
    no_threads.undo()

    assert {result.outcome for result in found} == {Outcome.FAILED}
    assert all("starts no more threads" in result.explanation for result in found)
    assert (await call_tool(tool, asked)).receipt == {"counted": 1}


def in_the_way(place: Path) -> None:
    """Put a file where a folder would be made: nothing can be written below it."""
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text("")


async def test_a_mail_of_which_no_draft_can_be_written_has_failed(tmp_path: Path) -> None:
    bench = MaildirBench(tmp_path)
    in_the_way(tmp_path / "data/drafts")

    result = await call_tool(bench.tool, call(bench, "execute"))

    assert result.outcome is Outcome.FAILED
    assert "the draft cannot be written (File exists)" in result.explanation


async def test_a_mail_that_cannot_be_delivered_has_failed_and_a_retry_delivers_it_once(
    tmp_path: Path,
) -> None:
    bench = MaildirBench(tmp_path)
    executed = await done(bench, "execute")
    in_the_way(tmp_path / "data/outbox")

    result = await call_tool(bench.tool, call(bench, "commit", executed.receipt))

    assert result.outcome is Outcome.FAILED
    assert "data/outbox cannot be written" in result.explanation
    assert "make room there, then retry" in result.explanation
    (tmp_path / "data/outbox").unlink()
    await done(bench, "commit", executed.receipt)
    assert bench.acts() == 1


async def test_a_mail_that_was_sent_is_done_although_that_cannot_be_kept(tmp_path: Path) -> None:
    bench = MaildirBench(tmp_path)
    executed = await done(bench, "execute")
    in_the_way(tmp_path / "data/sent")

    result = await call_tool(bench.tool, call(bench, "commit", executed.receipt))

    assert result.outcome is Outcome.DONE
    assert result.receipt is not None
    assert result.receipt["sent"] is True
    assert bench.acts() == 1


async def test_a_draft_that_cannot_be_taken_for_sending_stays_a_draft(tmp_path: Path) -> None:
    bench = MaildirBench(tmp_path)
    executed = await done(bench, "execute")
    (draft,) = pieces(tmp_path, "drafts")
    key = draft.with_name(draft.name + ".key.part")
    key.mkdir()

    result = await call_tool(bench.tool, call(bench, "commit", executed.receipt))

    assert result.outcome is Outcome.FAILED
    assert "the draft cannot be taken for sending" in result.explanation
    assert draft.exists()
    key.rmdir()
    await done(bench, "commit", executed.receipt)
    assert bench.acts() == 1


async def test_what_an_earlier_attempt_may_have_sent_stays_in_doubt(tmp_path: Path) -> None:
    bench = MaildirBench(tmp_path)
    executed = await done(bench, "execute")
    (draft,) = pieces(tmp_path, "drafts")
    draft.rename(draft.with_name(draft.name + ".sending"))  # as where the bot died while it sent
    draft.with_name(draft.name + ".key.part").mkdir()

    result = await call_tool(bench.tool, call(bench, "commit", executed.receipt))

    assert result.outcome is Outcome.UNKNOWN
    assert "the draft cannot be taken for sending" in result.explanation


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
