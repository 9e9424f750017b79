"""Ids of proposals come again where a bot begins with another database: a store in memory, a copy
that was brought back, an empty file. What lies in the folders of mails is of those before."""

from __future__ import annotations

from dataclasses import replace
from email import message_from_bytes, policy
from pathlib import Path
from typing import Any

import pytest

from lifecycle.calls.calling import CallResult, call_tool
from lifecycle.proposal import Outcome
from tests.bot.tools.mailing import MAIL, MaildirBench, pieces
from tests.contracts.tool_contract import call, done

ANOTHER = "sha256:bb"
OTHER_MAIL = MAIL | {"to": "kim@partner.example", "subject": "Something else"}


@pytest.fixture
def bench(tmp_path: Path) -> MaildirBench:
    return MaildirBench(tmp_path)


async def another(bench: MaildirBench, verb: str, receipt: Any = None) -> CallResult:
    """Call for another document of the same id, with the same attempt."""
    asked = call(bench, verb, receipt, parameters=OTHER_MAIL)
    result = await call_tool(bench.tool, replace(asked, digest=ANOTHER))
    assert result.outcome is Outcome.DONE, result.explanation
    return result


def mails(bench: MaildirBench) -> list[Any]:
    lying = pieces(bench.folder, "outbox/new")
    return [message_from_bytes(each.read_bytes(), policy=policy.default) for each in lying]


async def test_a_draft_of_another_proposal_of_the_same_id_is_not_sent_in_its_place(
    bench: MaildirBench,
) -> None:
    """What was approved never left, and a mail did that nobody had approved since."""
    await done(bench, "execute")  # its bot ended before the window did
    executed = await another(bench, "execute")
    await another(bench, "commit", executed.receipt)

    assert [each["Subject"] for each in mails(bench)] == ["Something else"]


async def test_a_mail_of_another_proposal_of_the_same_id_that_was_sent_does_not_pass_for_it(
    bench: MaildirBench,
) -> None:
    first = await done(bench, "execute")
    await done(bench, "commit", first.receipt)
    executed = await another(bench, "execute")
    await another(bench, "commit", executed.receipt)

    assert {each["Subject"] for each in mails(bench)} == {MAIL["subject"], "Something else"}
    assert len({each["Message-ID"] for each in mails(bench)}) == 2, (
        "both are shown to who gets them"
    )


async def test_discarding_one_leaves_what_another_proposal_of_the_same_id_staged(
    bench: MaildirBench,
) -> None:
    first = await done(bench, "execute")
    executed = await another(bench, "execute")
    await another(bench, "roll_back", executed.receipt)
    await done(bench, "commit", first.receipt)

    assert [each["Subject"] for each in mails(bench)] == [MAIL["subject"]]
