"""What the terminal prints: each thing once, plain for programs, for people whole at any width."""

from __future__ import annotations

import io
import json
import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from prompt_toolkit.application import create_app_session
from prompt_toolkit.input import create_pipe_input
from rich.cells import cell_len
from rich.text import Text

from bot.chat.cards.beside import Beside
from bot.chat.cards.card import card_of
from bot.chat.showing.broadcast import Broadcast
from bot.chat.terminal.client import TerminalClient
from bot.chat.terminal.keyboard import Keyboard
from bot.chat.terminal.notifier import TerminalSurface
from bot.chat.terminal.render import Screen
from lifecycle.policy import Level, RuleSettings
from tests.builders import MAIL, NOW_MS, PROD
from tests.roads import adopted
from tests.stories.test_plans import an_envelope
from tests.stories.test_questions import PLAN
from tests.terminal import Lines as TypedLines
from tests.terminal import Terminal, a_terminal, documents
from tests.world import an_unhurried_sentinel


class Tty(io.StringIO):
    """A terminal that somebody looks at; how wide it is, COLUMNS says."""

    def isatty(self) -> bool:
        return True

    @property
    def shown(self) -> str:
        """What is seen, without its colours."""
        return Text.from_ansi(self.getvalue()).plain


WORDS = ("leila", "production-deploy", "www.shop.example", "sentinel_approved", "2026-03-03")


async def test_every_printed_document_is_one_line_of_plain_ascii() -> None:
    terminal = a_terminal()
    parameters = MAIL["parameters"] | {"body": "\u001b[31mrot\u202e ✅ " + "x" * 500}
    await terminal.proposes(MAIL, parameters=parameters)

    line = next(each for each in terminal.printed if each.startswith("{"))
    assert line.isascii()
    assert "\x1b" not in "\n".join(terminal.printed)


async def test_an_answer_to_a_question_commands_no_terminal_and_forges_no_line() -> None:
    terminal = a_terminal()
    envelope = an_envelope(terminal.world, [], PLAN, intent="May I?")
    asked = documents(await terminal.types(f"leila: propose {json.dumps(envelope)}"))[0]
    words = "no\x1b]0;x\x07\x9b2J\u202e\r\x7f ✅ 👩‍🚀 é\np1: completed"

    asked_id, ben = asked["result"]["question_id"], terminal.world.sender("ben")
    await terminal.world.workflow.answer_question(asked_id, ben, words)
    await terminal.client.settled()

    (said,) = terminal.fresh()
    assert said.startswith(f"ben answers {asked_id}: no\\u{{1B}}]0;x")
    assert said.endswith("é p1: completed")
    assert said.isprintable()


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


async def test_cards_are_told_again_after_a_restart_only_where_something_is_new() -> None:
    first = a_terminal()
    await first.proposes(PROD)
    await first.world.restarts()
    again = a_terminal(world=first.world)
    await again.client.settled()
    assert again.printed == []

    lines = await again.types("ben: approve p1 go")
    assert [each["state"] for each in documents(lines)] == ["completed"]


async def adopts(terminal: Terminal, **changes: Any) -> list[str]:
    """Put a policy with changes in force and return what is printed for it."""
    world = terminal.world
    policy = replace(world.workflow.policy, **changes)
    policy = replace(policy, digest=f"pol1_{next(world.policies):064d}")
    terminal.fresh()
    await adopted(world.workflow, policy, an_unhurried_sentinel(policy))
    await world.workflow.idle()
    await terminal.client.settled()
    return terminal.fresh()


async def test_a_card_is_printed_whole_again_where_people_decide_on_something_else() -> None:
    terminal = a_terminal()
    await terminal.proposes(MAIL, approval_class="dual")
    rules = terminal.world.workflow.policy.rules
    phrases = RuleSettings(Level.SOFT, {"phrases": ["hello"], "patterns": []})

    objected = await adopts(terminal, rules={**rules, "prohibited_content": phrases})
    approved = await terminal.types("ben: approve p1 it is a greeting")

    assert any("prohibited_phrase" in line for line in objected)
    assert "  body: Hello" in objected
    assert "    approved by 1 of 2 (ben)" in approved
    assert "  body: Hello" not in approved


async def test_a_card_of_a_former_process_is_printed_whole_before_its_news() -> None:
    first = a_terminal()
    await first.proposes(MAIL)
    await first.world.restarts()
    again = a_terminal(world=first.world)
    rules = again.world.workflow.policy.rules
    phrases = RuleSettings(Level.SOFT, {"phrases": ["hello"], "patterns": []})

    printed = await adopts(again, rules={**rules, "prohibited_content": phrases})
    assert any("prohibited_phrase" in line for line in printed)


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


async def test_no_line_is_drawn_under_headings_that_say_nothing() -> None:
    terminal = a_terminal()
    await terminal.proposes(PROD, proposal_id="p1")
    shown, listed = Tty(), Tty()
    Screen(shown).reply(await terminal.commands.run("show p1", terminal.world.sender("ana")))
    Screen(listed).reply(await terminal.commands.run("tools", terminal.world.sender("ana")))

    assert "─" not in shown.shown
    assert "─" in listed.shown


async def test_a_dumb_terminal_gets_text_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TERM", "dumb")
    ours, theirs = os.openpty()
    out = os.fdopen(theirs, "w")
    monkeypatch.setattr(sys, "stdout", out)
    with out, create_pipe_input() as keys, create_app_session(input=keys):
        keys.send_text("pending\r")
        typed = await Keyboard(tmp_path / "history", print).next()
        shown = b""
        while not shown.endswith(b"\n"):  # the kernel hands it over in pieces
            shown += os.read(ours, 4096)
    os.close(ours)

    assert typed == b"pending"
    assert shown == b"signoff> pending\r\r\n"


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


@pytest.mark.parametrize("columns", [40, 80])
async def test_a_keyboard_gets_words_whole_and_only_lines_of_ours_begin_at_the_edge(
    monkeypatch: pytest.MonkeyPatch, columns: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    seen = Tty()
    words = (
        "ben answers q1: no, " + "and so on " * 12 + "\n    " + "請求書のお支払い " * 9 + "p1: done"
    )

    Screen(seen).line(words)

    first, *more = seen.shown.splitlines()
    assert first.startswith("ben answers q1: no,")
    assert all(line.startswith("  ") for line in more)
    assert all(cell_len(line) <= columns for line in (first, *more))
    assert seen.shown.split() == words.split()


@pytest.mark.parametrize(
    "begins",
    ["no," + "\t" * 12, " " * 70 + "no, ", "\u00a0".join(["no"] * 40), "\u3000".join(["no"] * 20)],
)
def test_no_blank_of_any_kind_brings_the_words_of_an_answer_to_the_edge(
    monkeypatch: pytest.MonkeyPatch, begins: str
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    seen = Tty()

    Screen(seen).line(f"ben answers q1:\n    {begins}\u00a0State:\u2003completed and all is well")

    _, *more = seen.shown.splitlines()
    assert all(line.startswith("  ") and cell_len(line) <= 80 for line in more)
    assert "\t" not in seen.shown
    assert " ".join(seen.shown.split()).endswith("State: completed and all is well")


def test_a_pipe_gets_each_line_in_one_piece(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    out = io.StringIO()

    Screen(out).line("and so on " * 12)

    assert out.getvalue() == "and so on " * 12 + "\n"
