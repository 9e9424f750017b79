"""Mail is a draft until the window closes, and then leaves once (design section 7)."""

from __future__ import annotations

from email import message_from_bytes, policy

import pytest

from lifecycle.calls.calling import call_tool
from lifecycle.proposal import Outcome
from tests.bot.tools.mailing import MAIL, MaildirBench, pieces
from tests.contracts.tool_contract import Kind, ToolContract, call, done


class TestMaildir(ToolContract):
    kind = Kind(reversible=True, deferred=True, idempotent=True)

    @pytest.fixture
    def bench(self, tmp_path):
        return MaildirBench(tmp_path)

    async def test_a_mail_that_was_read_is_not_delivered_again(self, bench):
        executed = await done(bench, "execute")
        await done(bench, "commit", executed.receipt)
        (new,) = pieces(bench.folder, "outbox/new")
        new.rename(bench.folder / "data/outbox/cur" / f"{new.name}:2,S")
        (sent,) = pieces(bench.folder, "sent")
        sent.rename(bench.folder / "data/drafts" / sent.name)  # as if the bot had died in between

        await done(bench, "commit", executed.receipt)

        assert bench.acts() == 1

    async def test_the_mail_is_what_the_proposal_names_and_nothing_else(self, bench):
        executed = await done(bench, "execute")
        await done(bench, "commit", executed.receipt)
        mail = message_from_bytes(bench.delivered(), policy=policy.default)

        assert mail["From"] == "agents@shop.example"
        assert mail["To"] == "pat@partner.example"
        assert mail["Cc"] == "kim@partner.example"
        assert mail["Bcc"] == "quiet@shop.example"
        assert mail["Reply-To"] == "leila@shop.example"
        assert mail["Subject"] == MAIL["subject"]
        assert mail["Date"] == "Mon, 02 Mar 2026 12:00:00 +0000"
        assert mail.get_content().replace("\r\n", "\n") == MAIL["body"]
        assert "high" not in bench.delivered().decode()
        assert bench.delivered().isascii()

    async def test_the_message_id_stands_for_the_idempotency_key(self, bench, tmp_path):
        other = MaildirBench(tmp_path / "other")
        for one in (bench, other):
            executed = await done(one, "execute")
            await done(one, "commit", executed.receipt)

        assert bench.delivered() == other.delivered()

    async def test_a_draft_that_was_changed_is_not_sent(self, bench):
        executed = await done(bench, "execute")
        (draft,) = pieces(bench.folder, "drafts")
        draft.write_bytes(draft.read_bytes().replace(b"pat@", b"eve@"))

        result = await call_tool(bench.tool, call(bench, "commit", executed.receipt))

        assert result.outcome is Outcome.FAILED
        assert "changed" in result.explanation
        assert bench.acts() == 0

    async def test_a_draft_that_is_gone_is_a_failure(self, bench):
        executed = await done(bench, "execute")
        await done(bench, "roll_back", executed.receipt)

        result = await call_tool(bench.tool, call(bench, "commit", executed.receipt))

        assert result.outcome is Outcome.FAILED

    async def test_roll_back_after_sending_says_that_the_mail_stands(self, bench):
        executed = await done(bench, "execute")
        await done(bench, "commit", executed.receipt)

        result = await done(bench, "roll_back", executed.receipt)

        assert result.still_stands == ("the mail was sent",)

    @pytest.mark.parametrize("draft", [None, 1, "x", "../../etc/passwd.eml", "a/b.eml"])
    async def test_a_receipt_cannot_name_a_file_elsewhere(self, bench, draft):
        result = await call_tool(bench.tool, call(bench, "roll_back", {"draft": draft}))

        assert result.outcome is Outcome.FAILED

    @pytest.mark.parametrize(
        "spoilt",
        [
            {"to": "Pat <pat@partner.example>"},
            {"to": "pat@partner.example, eve@partner.example"},
            {"to": "pat"},
            {"to": "pät@partner.example"},
            {"to": ["pat@partner.example", 7]},
            {"cc": "x@y.example\r\nX: y"},
            {"subject": "a\nBcc: eve@partner.example"},
            {"subject": 7},
            {"body": ["x"]},
            {"to": "@partner.example"},
            {"to": "pat@"},
            {"to": "pat(comment)@partner.example"},
        ],
    )
    async def test_what_cannot_stand_in_a_mail_fails_before_a_draft_is_written(self, bench, spoilt):
        result = await call_tool(bench.tool, call(bench, "execute", parameters=MAIL | spoilt))

        assert (result.outcome, bench.staged()) == (Outcome.FAILED, 0)

    async def test_a_domain_in_another_script_is_written_in_ascii(self, bench):
        bench.parameters = {"to": "pat@bücher.example", "subject": "s", "body": "b"}
        executed = await done(bench, "execute")
        await done(bench, "commit", executed.receipt)

        assert b"pat@xn--bcher-kva.example" in bench.delivered()
