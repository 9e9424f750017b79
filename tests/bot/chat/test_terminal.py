"""The terminal channel: who speaks, what is answered, in which order."""

from __future__ import annotations

import json

import pytest

from bot.chat.commands.help import COMMANDS
from bot.chat.terminal.elsewhere import SHELL, SHELL_AUDIT
from bot.chat.terminal.speakers import spoken
from bot.cli.app import app
from lifecycle.ports import StoreUnavailable
from lifecycle.state import State
from lifecycle.tier import Tier
from tests.builders import MAIL, PROD, a_policy
from tests.terminal import SEARCH, a_terminal, documents
from tests.terminal import Lines as TypedLines

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


@pytest.mark.parametrize(
    "line",
    ["{}: approve p1", "{}: propose {{}}", "leila: propose @{}", "leila: propose {}.json"],
    ids=["speaker", "proposer", "file", "file_without_its_sign"],
)
async def test_a_credential_typed_in_place_of_a_name_is_neither_shown_nor_kept(line: str) -> None:
    token = "ghp_" + "a1B2c3D4e5F6" * 3
    terminal = a_terminal()
    lines = await terminal.types(line.format(token))

    kept = await terminal.world.store.read(lambda tx: list(tx.audit.exported(0, 999)))
    assert lines
    assert token not in f"{lines} {kept}"


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


@pytest.mark.parametrize("thaw", ["thaw", "thaw \u200b", "\ufeffthaw\u00a0"])
async def test_what_cannot_begin_now_is_not_waited_for(thaw: str) -> None:
    terminal = a_terminal()
    await terminal.types("ana: freeze stocktaking")
    answer = documents(await terminal.types(f"leila: propose {json.dumps(SEARCH)}"))[0]

    assert answer["state"] == "sentinel_approved"
    lines = await terminal.types(f"ana: {thaw}")
    assert [each["state"] for each in documents(lines)] == ["completed"]


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


async def test_a_stop_is_kept_and_carried_out_although_the_store_cannot_even_be_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    terminal = a_terminal()
    proposed = await terminal.proposes()
    proposal_id = str(proposed["proposal_id"])

    async def fails(*_: object) -> None:
        raise StoreUnavailable("the disk is gone")

    with monkeypatch.context() as broken:
        broken.setattr(terminal.world.store, "read", fails)
        broken.setattr(terminal.world.store, "write", fails)
        said = "\n".join(await terminal.types(f"ana: reject {proposal_id} stop"))

    assert "Kept" in said
    assert "The store cannot be written" in said
    assert [stop["reason"] for stop in terminal.world.spool.stops] == ["stop"]
    ours = terminal.world.workflow.world
    assert proposal_id in ours.held
    await terminal.world.passes(seconds=5)
    assert (await terminal.world.proposal(proposal_id)).state is State.REJECTED
    assert (terminal.world.spool.stops, ours.held) == ([], set())


@pytest.mark.parametrize("name", ["`p1`", "p1,", "`p1`.", "“p1”"])
async def test_a_stop_finds_its_proposal_within_marks_that_no_id_has(name: str) -> None:
    terminal = a_terminal()
    await terminal.types(f"leila: propose {json.dumps(PROD | {'proposal_id': 'p1'})}")

    assert "unknown_proposal" in (await terminal.types(f"ana: approve {name}"))[0]
    assert (await terminal.types(f"ana: reject {name} because"))[0].startswith("p1 is rejected")
