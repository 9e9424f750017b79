"""The terminal channel: who speaks, what is answered, in which order."""

from __future__ import annotations

import asyncio
import io
import json
import os
from pathlib import Path

import pytest
from rich.cells import cell_len
from rich.text import Text

from bot.chat.broadcast import Broadcast
from bot.chat.card import card_of
from bot.chat.card_facts import Beside
from bot.chat.help import COMMANDS
from bot.chat.terminal.client import TerminalClient
from bot.chat.terminal.elsewhere import SHELL, SHELL_AUDIT
from bot.chat.terminal.lines import LONGEST_LINE, Lines
from bot.chat.terminal.notifier import TerminalSurface
from bot.chat.terminal.render import Screen
from bot.chat.terminal.speakers import spoken
from bot.cli.app import app
from lifecycle.ports import StoreUnavailable
from lifecycle.tier import Tier
from tests.builders import MAIL, NOW_MS, PROD, a_document, a_policy
from tests.terminal import Lines as TypedLines
from tests.terminal import Terminal, a_terminal, documents

SEARCH = a_document(
    MAIL,
    proposal_id="s1",
    tool="search",
    action_type="read",
    parameters={"q": "invoice"},
    justification=None,
)
AUTO = {"orchestrator": "nour", "auto_approval_tiers": frozenset({Tier.PROPOSE})}


@pytest.mark.parametrize(
    ("text", "who", "said"),
    [
        ("leila: propose {}", "leila", "propose {}"),
        ("  ben :approve p1", "ben", "approve p1"),
        ("crm-sensor: evidence {}", "crm-sensor", "evidence {}"),
        ("approve p1", "ana", "approve p1"),
        ('propose {"a": 1}', "ana", 'propose {"a": 1}'),
        ('propose {"url":"http://x"}', "ana", 'propose {"url":"http://x"}'),
    ],
)
def test_a_name_before_a_colon_speaks_else_the_first_person(text: str, who: str, said: str) -> None:
    found = spoken(text, a_policy())

    assert (found.sender.id, found.text, found.objection) == (who, said, None)


@pytest.mark.parametrize("name", ["zoe", "cal", "nour", "Leila"])
def test_whoever_may_not_be_spoken_for_is_a_stranger(name: str) -> None:
    found = spoken(f"{name}: approve p1", a_policy())

    assert found.sender.identity is None
    assert found.objection is not None


async def test_a_strangers_proposal_is_answered_in_json_and_stored_nowhere() -> None:
    terminal = a_terminal()
    answer = documents(await terminal.types(f"zoe: propose {json.dumps(MAIL)}"))[0]

    assert answer["reason"] == "unknown_agent"
    assert await terminal.types("pending") == ["0 pending"]


async def test_a_strangers_command_is_refused_in_words_and_audited() -> None:
    terminal = a_terminal()
    lines = await terminal.types("leyla: approve p1")

    words = "Nobody called 'leyla' speaks at this terminal. Did you mean leila? (unknown_agent)"
    assert lines == [words]
    ignored = await terminal.world.audit("ignored")
    assert [entry["reason"] for entry in ignored] == ["unknown_agent"]


async def test_an_auto_answer_comes_once_when_the_call_has_ended() -> None:
    terminal = a_terminal()
    lines = await terminal.types(f"leila: propose {json.dumps(SEARCH)}")

    assert [each["state"] for each in documents(lines)] == ["completed"]
    terminal.world.clock.advance(3600)
    await terminal.client.settled()
    assert terminal.fresh() == []


async def test_a_confirm_answer_comes_at_once_and_once_more_at_the_end() -> None:
    terminal = a_terminal()
    await terminal.proposes(PROD)
    lines = await terminal.types("ben: approve p1 go")

    assert lines[0] == "Approved by ben: 1 of 1."
    assert [each["state"] for each in documents(lines)] == ["completed"]
    assert await terminal.types("pending") == ["0 pending"]


async def test_a_line_is_finished_with_its_call_before_the_next_is_read() -> None:
    terminal = a_terminal(a_policy(**AUTO))
    await terminal.proposes(MAIL)

    shown = "\n".join(terminal.printed)
    assert "executing: execute done" in shown
    assert "closes 2026-03-02 12:15:00 UTC (in 15 min)" in shown


async def test_what_cannot_begin_now_is_not_waited_for() -> None:
    terminal = a_terminal()
    await terminal.types("ana: freeze stocktaking")
    answer = documents(await terminal.types(f"leila: propose {json.dumps(SEARCH)}"))[0]

    assert answer["state"] == "sentinel_approved"
    lines = await terminal.types("ana: thaw")
    assert [each["state"] for each in documents(lines)] == ["completed"]


async def test_every_printed_document_is_one_line_of_plain_ascii() -> None:
    terminal = a_terminal()
    parameters = MAIL["parameters"] | {"body": "\u001b[31mrot\u202e ✅ " + "x" * 500}
    await terminal.proposes(MAIL, parameters=parameters)

    line = next(each for each in terminal.printed if each.startswith("{"))
    assert line.isascii()
    assert "\x1b" not in "\n".join(terminal.printed)


async def test_the_announcement_of_a_freeze_is_words_not_json() -> None:
    terminal = a_terminal()
    lines = await terminal.types("freeze because")

    assert documents(lines) == []
    assert lines[-1].startswith("Frozen by ana: because.")


async def test_who_types_freeze_or_thaw_reads_it_once_and_reads_what_others_do() -> None:
    terminal = a_terminal()
    ana = terminal.world.sender("ana")

    frozen = await terminal.types("freeze because")
    thawed = await terminal.types("thaw")
    await terminal.types("freeze because")
    for _ in range(2):
        terminal.world.clock.advance(1)
        await terminal.world.workflow.freeze("because", ana)
        await terminal.client.settled()

    assert (len(frozen), len(thawed)) == (1, 1)
    assert terminal.fresh() == frozen * 2


@pytest.mark.parametrize("line", ["", "   ", "# a comment", "\ufeff"])
async def test_nothing_is_said_to_an_empty_line_or_a_comment(line: str) -> None:
    assert await a_terminal().types(line) == []


async def test_bytes_that_are_no_utf8_are_answered() -> None:
    terminal = a_terminal()

    assert "UTF-8" in (await terminal.types(b"approve \xff"))[0]
    answer = documents(await terminal.types(b'leila: propose {"a":"\xff"}'))[0]
    assert answer["reason"] == "invalid_unicode"


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("aprove p1", "There is no command 'aprove'. Did you mean approve?"),
        ("reject p1", "Say why: reject p1 <reason>"),
        ("settle p1 perhaps", "Write: settle <id> happened|did-not-happen"),
        ("show", "Write: show <id>"),
        ("approve nope", "No proposal has the id 'nope'"),
        ("show nope", "No proposal has the id 'nope'"),
        ("rules recipient_allowed", "Did you mean recipients_allowed?"),
        ("quit", "To leave, press Ctrl-D"),
        ("ben: exit", "To leave, press Ctrl-D"),
        ("audit verify", "a command of the shell, not of this prompt: signoff audit verify"),
        ("check-config", "a command of the shell, not of this prompt: signoff check-config"),
        ("signoff pending", "a command stands alone: pending, not signoff pending"),
    ],
)
async def test_a_mistake_is_answered_with_its_remedy(line: str, code: str) -> None:
    assert code in (await a_terminal().types(line))[0]


def test_every_command_of_the_shell_alone_is_named_at_the_prompt() -> None:
    (audit,) = (group.typer_instance for group in app.registered_groups)
    assert audit is not None

    assert {each.name for each in app.registered_commands} - set(COMMANDS) == SHELL
    assert {each.name for each in audit.registered_commands} == SHELL_AUDIT


async def test_a_proposal_whose_id_is_a_word_of_the_shell_is_shown_all_the_same() -> None:
    terminal = a_terminal()
    await terminal.proposes(PROD, proposal_id="verify")

    assert (await terminal.types("audit verify"))[0] == "Trail of verify"


async def test_looking_needs_four_characters_and_deciding_the_whole_id() -> None:
    terminal = a_terminal()
    await terminal.proposes(PROD, proposal_id="deploy-1")

    assert (await terminal.types("show depl"))[0].startswith("🔔")
    assert "4 characters are enough" in (await terminal.types("show dep"))[0]
    assert await terminal.types("ben: approve deploy") == [
        "Here the whole id is needed. Did you mean deploy-1? (ambiguous_id)"
    ]
    await terminal.proposes(PROD, proposal_id="deploy-2", parameters={"version": "v43"})
    assert "deploy-1, deploy-2" in (await terminal.types("show depl"))[0]


# -- files ------------------------------------------------------------------------------------


def at_a_desk(folder: Path, **document: object) -> Terminal:
    file = a_document(MAIL, **({"proposal_id": "@new", "ts_ms": "@now"} | document))
    (folder / "mail.json").write_text(json.dumps(file))
    return a_terminal(None, folder)


async def test_a_file_is_filled_with_a_new_id_and_the_time(tmp_path: Path) -> None:
    terminal = at_a_desk(tmp_path)
    first = documents(await terminal.types("leila: propose @mail.json"))[0]
    second = documents(await terminal.types("leila: propose @mail.json"))[0]

    assert first["proposal_id"].startswith("mail-")
    assert first["state"] == "sentinel_approved"
    assert second["deduplicated"] is True


async def test_a_missing_file_is_named_and_a_large_one_never_read(tmp_path: Path) -> None:
    terminal = at_a_desk(tmp_path)
    (tmp_path / "big.json").write_bytes(b" " * 300_000)

    missing = documents(await terminal.types("leila: propose @nothing.json"))[0]
    big = documents(await terminal.types("leila: propose @big.json"))[0]
    device = documents(await terminal.types("leila: propose @/dev/zero"))[0]
    assert "There is no file 'nothing.json'" in missing["explanation"]
    assert big["reason"] == "too_large"
    assert "There is no file" in device["explanation"]


async def test_evidence_may_come_from_a_file(tmp_path: Path) -> None:
    terminal = at_a_desk(tmp_path)
    packet = {"evidence_id": "e1", "source": "crm-sensor", "observed_at_ms": NOW_MS, "payload": {}}
    (tmp_path / "stock.json").write_text(json.dumps(packet))

    assert await terminal.types("crm-sensor: evidence @stock.json") == ["Evidence e1 is recorded."]
    assert "never from agents" in (await terminal.types("leila: evidence @stock.json"))[0]


# -- reading ----------------------------------------------------------------------------------


async def lines_of(data: bytes) -> list[bytes]:
    reading, writing = os.pipe()

    def write() -> None:
        with os.fdopen(writing, "wb") as pipe:
            pipe.write(data)

    lines, found = Lines(reading), []
    written = asyncio.get_running_loop().run_in_executor(None, write)
    try:
        while (line := await lines.next()) is not None:
            found.append(line)
        await written
    finally:
        os.close(reading)
    return found


@pytest.mark.parametrize(
    ("data", "lines"),
    [
        (b"", []),
        (b"one\ntwo\n", [b"one", b"two"]),
        (b"one\r\ntwo\r\n", [b"one", b"two"]),
        (b"one\n\nlast without an end", [b"one", b"", b"last without an end"]),
        (b"\xff\xfe\n", [b"\xff\xfe"]),
        (b"a" * 300_000 + b"\nnext\n", [b"a" * 300_000, b"next"]),
    ],
)
async def test_lines_are_given_one_by_one(data: bytes, lines: list[bytes]) -> None:
    assert await lines_of(data) == lines


async def test_a_line_without_end_does_not_fill_the_memory() -> None:
    found = await lines_of(b"a" * (LONGEST_LINE + 200_000) + b"\nnext\n")

    assert len(found[0]) == LONGEST_LINE
    assert found[1] == b"next"


async def test_a_document_of_256_kib_fits_a_line_and_a_larger_one_is_too_large() -> None:
    terminal = a_terminal()
    document = json.dumps(a_document(MAIL, evidence="@"))
    room = 256 * 1024 - len(document)

    fits, larger = (document.replace('"@"', f'"{"e" * (room + more + 1)}"') for more in (0, 1))
    assert len(fits) == 256 * 1024
    assert documents(await terminal.types(f"leila: propose {fits}"))[0]["reason"] != "too_large"
    assert documents(await terminal.types(f"leila: propose {larger}"))[0]["reason"] == "too_large"


async def test_the_client_answers_every_line_and_returns_at_the_end() -> None:
    terminal = a_terminal()
    await terminal.client.run(TypedLines(b"pending", b"", b"help pending"))

    assert terminal.printed[0] == "0 pending"
    assert terminal.printed[1].startswith("pending [page]")


async def test_a_reader_that_went_away_ends_the_channel_without_noise() -> None:
    class Closed(io.StringIO):
        def write(self, _: str) -> int:
            raise BrokenPipeError

    terminal = a_terminal()
    screen = Screen(Closed())
    broadcast = Broadcast([TerminalSurface(screen)])
    broadcast.attach(terminal.world.workflow.world)
    client = TerminalClient(terminal.commands, broadcast.delivery("terminal"), screen, folders=())

    await client.run(TypedLines(b"pending", b"pending"))


async def test_cards_are_told_again_after_a_restart_only_where_something_is_new() -> None:
    first = a_terminal()
    await first.proposes(PROD)
    await first.world.restarts()
    again = a_terminal(world=first.world)
    await again.client.settled()
    assert again.printed == []

    lines = await again.types("ben: approve p1 go")
    assert [each["state"] for each in documents(lines)] == ["completed"]


class Tty(io.StringIO):
    """A terminal that somebody looks at; how wide it is, COLUMNS says."""

    def isatty(self) -> bool:
        return True

    @property
    def shown(self) -> str:
        """What is seen, without its colours."""
        return Text.from_ansi(self.getvalue()).plain


WORDS = ("leila", "production-deploy", "www.shop.example", "sentinel_approved", "2026-03-03")


@pytest.mark.parametrize("columns", [40, 80, 120, 200])
@pytest.mark.parametrize("proposal_id", ["d1", "deploy-production-00d6f646", "p" * 64])
async def test_a_keyboard_gets_lists_with_whole_ids_and_whole_words(
    monkeypatch: pytest.MonkeyPatch, columns: int, proposal_id: str
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    terminal = a_terminal()
    await terminal.proposes(PROD, proposal_id=proposal_id)
    paper = Tty()
    Screen(paper).reply(await terminal.commands.run("pending", terminal.world.sender("ana")))

    drawn = "─" in paper.shown
    assert all(word in paper.shown for word in (proposal_id, *WORDS))
    assert not drawn or max(map(cell_len, paper.shown.splitlines())) <= columns
    assert drawn == (columns == 200 or (columns == 120 and len(proposal_id) < 64))


@pytest.mark.parametrize("columns", [40, 80, 120])
@pytest.mark.parametrize("proposal_id", ["d1", "p" * 64])
async def test_a_card_in_a_frame_is_whole_at_every_width(
    monkeypatch: pytest.MonkeyPatch, columns: int, proposal_id: str
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    terminal = a_terminal()
    await terminal.proposes(PROD, proposal_id=proposal_id)
    proposal = await terminal.world.proposal(proposal_id)
    content = card_of(proposal, Beside(terminal.world.workflow.policy, NOW_MS))
    paper = Tty()
    Screen(paper).card(content)

    words = "".join(paper.shown.translate(dict.fromkeys(map(ord, "│╭╮╰╯─"))).split())
    assert "".join(content.title.split()) in words
    assert "".join(content.footer.split()) in words
    assert max(map(cell_len, paper.shown.splitlines())) <= columns


async def test_a_fenced_document_of_several_lines_is_one_command() -> None:
    terminal = a_terminal()
    fenced = json.dumps(SEARCH | {"ts_ms": NOW_MS}, indent=1).encode().split(b"\n")

    await terminal.client.run(
        TypedLines(b"leila: propose ```json", *fenced, b"```", b"leila: propose ```{}```")
    )

    assert [each["proposal_id"] for each in documents(terminal.fresh())] == ["s1", None]


async def test_nothing_inside_a_fence_is_a_command_even_if_it_is_never_closed() -> None:
    terminal = a_terminal()
    await terminal.proposes(PROD, proposal_id="p1")
    terminal.fresh()

    await terminal.client.run(TypedLines(b"leila: propose ```", b"{", b"approve p1"))

    lines = terminal.fresh()
    assert [each["reason"] for each in documents(lines)] == ["malformed_json"]
    assert "reviewed" not in await terminal.world.trail("p1")


async def test_a_mistake_of_ours_costs_an_answer_and_not_the_terminal(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    terminal = a_terminal()

    async def breaks(*_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(terminal.world.workflow, "freeze", breaks)
    await terminal.client.run(TypedLines(b"freeze now", b"pending"))

    assert "Something went wrong" in terminal.printed[0]
    assert terminal.printed[-1] == "0 pending"


async def test_a_stop_is_kept_although_the_store_cannot_even_be_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    terminal = a_terminal()
    proposed = await terminal.proposes()

    async def fails(*_: object) -> None:
        raise StoreUnavailable("the disk is gone")

    with monkeypatch.context() as broken:
        broken.setattr(terminal.world.store, "read", fails)
        broken.setattr(terminal.world.store, "write", fails)
        said = "\n".join(await terminal.types(f"ana: reject {proposed['proposal_id']} stop"))

    assert "Kept" in said
    assert "The store cannot be written" in said
    assert [stop["reason"] for stop in terminal.world.spool.stops] == ["stop"]
