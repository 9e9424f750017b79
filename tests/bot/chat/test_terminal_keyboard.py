"""A keyboard: what is pasted, what is broken off, what is remembered, and how somebody leaves."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from prompt_toolkit.application import create_app_session
from prompt_toolkit.input import PipeInput, create_pipe_input
from prompt_toolkit.output import DummyOutput

from bot.chat.terminal import keyboard
from bot.chat.terminal.keyboard import Keyboard
from bot.chat.terminal.pasted import first_command
from tests.builders import MAIL, PROD, a_document
from tests.terminal import Terminal, a_terminal, documents

CTRL_C, CTRL_D, ENTER = "\x03", "\x04", "\r"
LEAVE = "To leave, press Ctrl-D, or Ctrl-C once more."


def paste(text: str) -> str:
    """Return the bytes of a bracketed paste, which ends in no Enter of its own."""
    return f"\x1b[200~{text}\x1b[201~"


@dataclass
class Desk:
    """A keyboard at which keys are pressed; `said` is what it says on its own."""

    keys: PipeInput
    keyboard: Keyboard
    said: list[str] = field(default_factory=list)

    async def work(self, terminal: Terminal, *keys: str) -> list[str]:
        """Press keys, leave, and return what the terminal printed."""
        terminal.fresh()
        self.keys.send_text("".join(keys) + CTRL_D)
        await asyncio.wait_for(terminal.client.run(self.keyboard), 20)
        return terminal.fresh()


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    with create_pipe_input() as keys, create_app_session(input=keys, output=DummyOutput()):
        said: list[str] = []
        yield Desk(keys, Keyboard(tmp_path / "history", said.append), said)


async def two_open() -> Terminal:
    terminal = a_terminal()
    await terminal.proposes(MAIL, proposal_id="m1")
    await terminal.proposes(PROD, proposal_id="d1")
    return terminal


async def explanation(terminal: Terminal, proposal_id: str) -> str | None:
    return (await terminal.world.proposal(proposal_id)).explanation


# -- what is pasted ---------------------------------------------------------------------------


@pytest.mark.parametrize("first", ["reject m1 wrong amount", "freeze drill", "", "# both", "oops"])
@pytest.mark.parametrize("end", ["", "\r\n"])
async def test_a_decision_pasted_behind_another_line_is_carried_out(
    desk: Desk, first: str, end: str
) -> None:
    terminal = await two_open()

    lines = await desk.work(terminal, paste(f"{first}\nreject d1 wrong version{end}"), ENTER)

    assert "d1 is rejected by ana. Nothing was run." in lines
    assert await explanation(terminal, "d1") == "wrong version"
    if "m1" in first:
        assert await explanation(terminal, "m1") == "wrong amount"


DOCUMENT = json.dumps(a_document(MAIL, proposal_id="p1"), indent=1)
COMPACT = json.dumps(a_document(MAIL, proposal_id="p1"))


@pytest.mark.parametrize(
    "proposing",
    [
        f"leila: propose {DOCUMENT}",
        f"leila: propose\n{DOCUMENT}",
        f"leila: propose {COMPACT}",
        f"leila: propose `{DOCUMENT}`",
        f"leila: propose ```json\n{DOCUMENT}\n```",
        f"leila: propose\n```\n{COMPACT}\n```",
    ],
)
async def test_a_pasted_document_is_one_command_and_what_surrounds_it_others(
    desk: Desk, proposing: str
) -> None:
    terminal = a_terminal()
    await terminal.proposes(PROD, proposal_id="d1")

    lines = await desk.work(terminal, paste(f"pending\n{proposing}\nreject d1 wrong"), ENTER)

    states = [(each["proposal_id"], each["state"]) for each in documents(lines)]
    assert states == [("p1", "sentinel_approved"), ("d1", "rejected")]
    assert lines[0] == "1 pending"


async def test_pasted_lines_that_name_files_are_one_proposal_each(
    desk: Desk, tmp_path: Path
) -> None:
    for name in ("a", "b"):
        document = a_document(
            MAIL, proposal_id=name, parameters={**MAIL["parameters"], "body": name}
        )
        (tmp_path / f"{name}.json").write_text(json.dumps(document))
    terminal = a_terminal(None, tmp_path)

    lines = await desk.work(
        terminal, paste("leila: propose @a.json\nleila: propose @b.json"), ENTER
    )

    assert [each["proposal_id"] for each in documents(lines)] == ["a", "b"]


@pytest.mark.parametrize(
    "text",
    [
        'leila: propose {"note":"\napprove d1\n"}',
        'leila: propose {"note":{\napprove d1',
        'leila: propose {"note\napprove d1',
        'leila: propose {"note":"\\\napprove d1',
        "leila: evidence ```\napprove d1",
        "propose `\napprove d1",
        'propose\n["\napprove d1',
        "zoe: propose {\napprove d1",
    ],
)
async def test_no_line_inside_a_pasted_document_is_a_command_even_if_it_is_never_closed(
    desk: Desk, text: str
) -> None:
    terminal = await two_open()

    lines = await desk.work(terminal, paste(text), ENTER, CTRL_D if "```" in text else "")

    assert "reviewed" not in await terminal.world.trail("d1")
    assert lines


def test_a_paste_of_nothing_but_quotes_and_brackets_is_looked_at_once() -> None:
    for text in (
        'propose {\\"' + '\\"' * 200_000,
        "propose {" + '"' * 200_001,
        "propose " + "[" * 200_000,
    ):
        assert first_command(text) == (text, "")


# -- breaking off and leaving -----------------------------------------------------------------


async def test_ctrl_c_clears_a_line_that_was_begun_and_ends_nothing(desk: Desk) -> None:
    lines = await desk.work(a_terminal(), "freeze dr", CTRL_C, "pending", ENTER)

    assert lines == ["0 pending"]
    assert desk.said == []


async def test_ctrl_c_on_an_empty_line_says_how_to_leave_and_a_second_one_leaves(
    desk: Desk,
) -> None:
    terminal = a_terminal()

    lines = await desk.work(
        terminal, CTRL_C, "pending", ENTER, CTRL_C, "pend", CTRL_C, CTRL_C, CTRL_C, "status", ENTER
    )

    assert lines == ["0 pending"]
    assert desk.said == [LEAVE] * 3


async def test_an_open_fence_has_a_prompt_of_its_own_and_ctrl_c_gives_it_up(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    prompts: list[str] = []
    asks = desk.keyboard._session.prompt_async

    async def noted(prompt: str, **settings: bool) -> str:
        prompts.append(prompt)
        return await asks(prompt, handle_sigint=settings["handle_sigint"])

    monkeypatch.setattr(desk.keyboard._session, "prompt_async", noted)
    lines = await desk.work(
        a_terminal(), "leila: propose ```", ENTER, "{", ENTER, CTRL_C, "pending", ENTER
    )

    assert prompts == ["signoff> ", "… ", "… ", "signoff> ", "signoff> "]
    assert lines == ["0 pending"]


async def test_a_fence_whose_first_lines_were_pasted_is_closed_by_hand(desk: Desk) -> None:
    fence = f"leila: propose ```\n{DOCUMENT}"
    lines = await desk.work(a_terminal(), paste(fence), ENTER, "```", ENTER, "pending", ENTER)

    assert documents(lines)[0]["proposal_id"] == "p1"
    assert "1 pending" in lines


OPEN = "The document is not closed: go on with it, or press Ctrl-C to give it up."


@pytest.mark.parametrize(
    "begun",
    [
        ["leila: propose {"],
        ["leila: propose", '{"note": "'],
        ["leila: propose", "```"],
        ["leila: propose {", "", "  ", "}{", '"'],
        ['leila: propose {"note": "', "", "ana: approve d1", ""],
    ],
)
async def test_no_line_typed_inside_a_document_is_a_command_and_behind_ctrl_c_each_one_is(
    desk: Desk, begun: list[str]
) -> None:
    terminal = await two_open()
    typed = "".join(line + ENTER for line in [*begun, "approve d1"])

    lines = await desk.work(
        terminal, typed, CTRL_C, "reject d1 wrong", ENTER, "freeze drill", ENTER
    )

    assert "reviewed" not in await terminal.world.trail("d1")
    assert await explanation(terminal, "d1") == "wrong"
    assert any(line.startswith("Frozen by ana: drill.") for line in lines)
    assert desk.said == [OPEN]


@pytest.mark.parametrize(
    "lines",
    [
        [f"leila: propose {DOCUMENT}"],
        ["leila: propose", DOCUMENT],
        ["leila: propose", "```json", DOCUMENT, "```"],
    ],
)
async def test_a_document_typed_line_by_line_is_one_command(desk: Desk, lines: list[str]) -> None:
    terminal = a_terminal()
    keys = "".join(line + ENTER for line in "\n".join(lines).split("\n"))

    printed = await desk.work(terminal, keys, "pending", ENTER)

    assert [each["state"] for each in documents(printed)] == ["sentinel_approved"]
    assert "1 pending" in printed


async def test_behind_a_command_that_stands_alone_another_one_is_heard(desk: Desk) -> None:
    terminal = await two_open()

    lines = await desk.work(
        terminal, "leila: propose", ENTER, paste("reject d1 wrong\nreject m1 too"), ENTER
    )

    assert documents(lines)[0]["reason"] == "malformed_json"
    assert await explanation(terminal, "d1") == "wrong"
    assert await explanation(terminal, "m1") == "too"


async def test_a_paste_that_is_never_closed_ends_with_itself(desk: Desk) -> None:
    terminal = await two_open()

    lines = await desk.work(
        terminal, paste('leila: propose {"note": "\napprove d1\n'), ENTER, "freeze drill", ENTER
    )

    assert "nothing behind it was read as a command" in documents(lines)[0]["explanation"]
    assert any(line.startswith("Frozen by ana: drill.") for line in lines)
    assert "reviewed" not in await terminal.world.trail("d1")


def test_a_full_disk_makes_no_keyboard_deaf(tmp_path: Path) -> None:
    path = tmp_path / "history"
    history = keyboard._history(path)
    path.unlink()
    path.symlink_to("/dev/full")

    history.append_string("pending")

    assert history.get_strings() == ["pending"]


def test_the_history_of_the_keyboard_keeps_no_credential(tmp_path: Path) -> None:
    history = keyboard._history(tmp_path / "data" / "history")
    history.store_string('leila: propose {"body": "key AKIAIOSFODNN7EXAMPLE"}')

    kept = (tmp_path / "data" / "history").read_text()
    assert "AKIAIOSFODNN7EXAMPLE" not in kept
    assert "leila: propose" in kept
