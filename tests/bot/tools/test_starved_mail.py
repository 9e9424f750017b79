"""Where the machine gives a mail no file or no room, it is sent once, or said to be in doubt."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from bot.process.durable_files import write_whole
from bot.tools.email import EmailTool
from bot.tools.maildir import MaildirCarrier
from lifecycle.calls.calling import call_tool
from lifecycle.ports import ToolDoubtful, ToolFailed
from lifecycle.proposal import Outcome
from tests.bot.tools.mailing import NOW_MS, MaildirBench, pieces
from tests.contracts.tool_contract import call, done


@contextmanager
def no_more_files(monkeypatch: pytest.MonkeyPatch, method: str) -> Iterator[None]:
    """A machine on which this method of a path finds no file to open."""

    def refused(*_: object) -> None:
        raise OSError(errno.EMFILE, "Too many open files")

    with monkeypatch.context() as patched:
        patched.setattr(Path, method, refused)
        yield


async def test_a_mail_for_which_no_file_can_be_opened_has_failed_and_a_retry_delivers_it_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = MaildirBench(tmp_path)
    executed = await done(bench, "execute")
    with no_more_files(monkeypatch, "read_bytes"):
        result = await call_tool(bench.tool, call(bench, "commit", executed.receipt))

    assert (result.outcome, bench.acts()) == (Outcome.FAILED, 0)
    assert "cannot be taken for sending (Too many open files)" in result.explanation
    await done(bench, "commit", executed.receipt)
    assert bench.acts() == 1


async def test_a_draft_that_cannot_be_discarded_is_no_doubt_and_is_discarded_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = MaildirBench(tmp_path)
    executed = await done(bench, "execute")
    with no_more_files(monkeypatch, "unlink"):
        result = await call_tool(bench.tool, call(bench, "roll_back", executed.receipt))

    assert result.outcome is Outcome.FAILED
    assert "cannot be discarded (Too many open files)" in result.explanation
    again = await done(bench, "roll_back", executed.receipt)
    assert (again.still_stands, bench.staged()) == ((), 0)


def in_the_way(place: Path) -> None:
    """Put a file where a folder would be made: nothing can be written below it."""
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text("")


async def test_a_mail_of_which_no_draft_can_be_written_has_failed(tmp_path: Path) -> None:
    bench = MaildirBench(tmp_path)
    in_the_way(tmp_path / "data/drafts")

    result = await call_tool(bench.tool, call(bench, "execute"))

    assert result.outcome is Outcome.FAILED
    assert "the draft cannot be written (a file is in its place)" in result.explanation


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


async def test_a_mail_that_was_delivered_before_has_not_failed_where_that_cannot_be_done_again(
    tmp_path: Path,
) -> None:
    carrier = MaildirCarrier(tmp_path / "outbox", "data/outbox")
    await carrier.carry("mail.eml", b"", 20)
    (tmp_path / "outbox/tmp").rmdir()
    in_the_way(tmp_path / "outbox/tmp")

    with pytest.raises(ToolDoubtful, match="it may lie in data/outbox"):
        await carrier.carry("mail.eml", b"", 20)


class Hindered:
    """Sends nothing, and puts something where the draft was."""

    repeatable = False

    def __init__(self, drafts: Path) -> None:
        self._drafts = drafts

    def describe(self) -> str:
        return "nowhere"

    async def carry(self, draft: str, data: bytes, limit_s: float) -> str:
        (self._drafts / draft).mkdir()
        raise ToolFailed("nobody took it")


async def test_a_mail_that_was_not_sent_has_failed_although_its_draft_cannot_be_put_back(
    tmp_path: Path,
) -> None:
    bench = MaildirBench(tmp_path)
    drafts = tmp_path / "data/drafts"
    executed = await done(bench, "execute")
    tool = EmailTool("agents@shop.example", Hindered(drafts), tmp_path, lambda: NOW_MS)
    asked = call(bench, "commit", executed.receipt)

    result = await call_tool(tool, asked)

    assert result.outcome is Outcome.FAILED
    assert "nobody took it" in result.explanation
    next(each for each in drafts.iterdir() if each.is_dir()).rmdir()
    again = replace(asked, idempotency_key=f"{asked.idempotency_key}:by-a-person")
    assert (await call_tool(bench.tool, again)).outcome is Outcome.DONE
    assert bench.acts() == 1


def test_what_cannot_be_written_whole_leaves_no_part(tmp_path: Path) -> None:
    (tmp_path / "kept").mkdir()

    with pytest.raises(OSError, match="kept"):
        write_whole(tmp_path / "kept", b"x")

    assert [each.name for each in tmp_path.iterdir()] == ["kept"]


@pytest.mark.parametrize("taken", [False, True])
async def test_a_mail_that_lay_in_the_maildir_has_not_failed_whoever_took_it_since(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, taken: bool
) -> None:
    """Its name is there, and the disk does not promise to keep it."""
    bench = MaildirBench(tmp_path)
    executed = await done(bench, "execute")
    new, synced = tmp_path / "data/outbox/new", os.fsync

    def fails_there(descriptor: int) -> None:
        if new.exists() and os.path.samestat(os.fstat(descriptor), new.stat()):
            for mail in new.iterdir() if taken else ():
                mail.unlink()
            raise OSError(errno.EIO, "Input/output error")
        synced(descriptor)

    monkeypatch.setattr(os, "fsync", fails_there)

    result = await call_tool(bench.tool, call(bench, "commit", executed.receipt))

    assert result.outcome is Outcome.UNKNOWN
    assert "it may lie in data/outbox, and may not stay there" in result.explanation


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
