"""Case N01 once more: what runs or can be taken back is reached page by page, wherever one asks."""

from __future__ import annotations

import json
import re
from dataclasses import replace

from bot.chat.showing.board import board_of
from lifecycle.answers import Sender
from lifecycle.ports import Transaction
from lifecycle.proposal import ActorKind, Attention
from lifecycle.workflow import Workflow
from tests.builders import MAIL, a_document
from tests.fakes.discord_stage import ANA, LEILA, DiscordStage, until
from tests.roomy import a_roomy_policy
from tests.slack_stage import eventually, on_slack, shown
from tests.terminal import a_terminal
from tests.world import World

OPENED = [f"w{number:02}" for number in range(25)]
WAITING = [f"q{number:02}" for number in range(4)]


async def opened(workflow: Workflow, leila: Sender, ana: Sender) -> None:
    """Let 25 mails come into their window, one after the other, and four wait for people."""
    for number, proposal_id in enumerate(OPENED + WAITING):
        parameters = MAIL["parameters"] | {"subject": f"Invoice {number} " + "t" * 200}
        ts_ms = workflow.world.clock.now_ms()
        changes = {"proposal_id": proposal_id, "ts_ms": ts_ms, "parameters": parameters}
        await workflow.submit(json.dumps(a_document(**changes)).encode(), leila)
        if proposal_id in OPENED:
            await workflow.approve(proposal_id, ana)


def leila_on(surface: str, account: str) -> Sender:
    return Sender(surface, ActorKind.AGENT, "leila", account=account)


def ana_on(surface: str, account: str) -> Sender:
    return Sender(surface, ActorKind.PERSON, "ana", account=account)


def ids_in(text: str) -> list[str]:
    return re.findall(r"^(?:• )?([wq]\d\d) ", text, re.MULTILINE)


def mores_in(text: str) -> list[str]:
    return re.findall(r"More: .*?(pending \d)", text)


def heading(number: int) -> str:
    return f"4 pending, page {number} of 3"


def pages_reach_all(pages: list[str]) -> None:
    assert sorted(ids_in("\n".join(pages))) == WAITING + OPENED
    assert [each for each in ids_in("\n".join(pages)) if each in OPENED] == OPENED
    assert [mores_in(page) for page in pages] == [["pending 2"], ["pending 3"], []]
    assert all("25 executing" in page for page in pages)


async def test_N01_every_window_is_reached_in_the_terminal() -> None:
    terminal = a_terminal(a_roomy_policy())
    world = terminal.world
    await opened(world.workflow, world.sender("leila"), world.sender("ana"))
    await world.workflow.world.notifier.delivery("terminal").drain()  # type: ignore[attr-defined]
    await world.workflow.open_ready()
    await world.workflow.idle()
    terminal.fresh()

    pages = ["\n".join(await terminal.types(f"pending {number}")) for number in (1, 2, 3)]

    assert [page.split("\n")[0] for page in pages] == [heading(number) for number in (1, 2, 3)]
    pages_reach_all(pages)


async def test_N01_every_window_is_reached_on_slack() -> None:
    async with on_slack(a_roomy_policy()) as slack:
        workflow = slack.world.workflow
        await opened(workflow, slack.leila(), ana_on("slack", "T1/UANA"))
        await eventually(lambda: slack.seeded(WAITING[-1]), "the cards")
        await slack.stands(OPENED[-1], "executing")
        pages = []
        for number in (1, 2, 3):
            await slack.server.says("UANA", f"<@USIGNOFF> pending {number}")
            (page,) = await eventually(lambda n=number: slack.said(heading(n)), "a page")
            pages.append(shown(page))
        pages_reach_all(pages)


async def test_N01_every_window_is_reached_on_discord(discord_unstarted: DiscordStage) -> None:
    stage = discord_unstarted
    stage.policy = a_roomy_policy()
    await stage.begins()
    await opened(stage.workflow, leila_on("discord", LEILA), ana_on("discord", ANA))
    for proposal_id in OPENED:
        await stage.reaches(proposal_id, "executing")
    pages = []
    for number in (1, 2, 3):
        before = len(stage.server.said())
        stage.server.says(ANA, f"!pending {number}")
        await until(lambda n=number: heading(n) in "\n".join(stage.server.said()), "a page")
        await stage.quiet()
        pages.append("\n".join(stage.server.said()[before:]))
    pages_reach_all(pages)


async def test_N01_the_board_counts_all_that_need_a_person_and_shows_the_first(
    roomy: World,
) -> None:
    for number in range(14):
        await roomy.submits(MAIL, parameters=MAIL["parameters"] | {"subject": f"{number}"})

    def unit(tx: Transaction) -> None:
        for each in tx.proposals.waiting(0, 100):
            late = replace(each, attention=Attention.OVERDUE, version=each.version + 1)
            assert tx.proposals.save(late, each)

    await roomy.store.write(unit)
    board = await roomy.store.read(lambda tx: board_of(tx, roomy.clock.now_ms()))

    needy = board.groups[0]
    assert (needy.total, len(needy.lines)) == (14, 10)
