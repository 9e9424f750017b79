"""Cases N: the lists that people work from."""

from __future__ import annotations

from dataclasses import replace

from bot.storage.memory import MemoryStore
from bot.views import pending_json, pending_page
from lifecycle.ports import Transaction
from lifecycle.proposal import Attention, Proposal
from lifecycle.state import State
from tests.builders import NOW_MS, a_document, a_proposal
from tests.terminal import Terminal, a_terminal
from tests.world import a_world

MINUTE_MS = 60_000


def waiting(number: int, **changes: object) -> Proposal:
    parameters = {"to": "pat@partner.example", "subject": f"{number} " + "t" * 200, "body": "x"}
    document = a_document(proposal_id=f"p{number:03}", parameters=parameters)
    proposal = a_proposal(
        document,
        state=State.SENTINEL_APPROVED,
        deadline_ms=NOW_MS + (61 - number) * MINUTE_MS,
    )
    return replace(proposal, **changes)


async def a_full_house(*proposals: Proposal) -> Terminal:
    store = MemoryStore()

    def unit(tx: Transaction) -> None:
        for each in proposals:
            tx.proposals.add(each)

    await store.write(unit)
    return a_terminal(world=a_world(store))


async def test_N01_sixty_proposals_are_all_reachable_nearest_deadline_first() -> None:
    terminal = await a_full_house(*(waiting(number) for number in range(1, 61)))

    assert (await terminal.types("pending"))[0] == "60 pending, page 1 of 6"
    assert (await terminal.types("pending 3"))[0] == "60 pending, page 3 of 6"
    ids = []
    for page in range(1, 7):
        lines = await terminal.types(f"pending {page}")
        ids += [line.split(" · ")[0] for line in lines if line.startswith("p0")]
    assert ids == [f"p{number:03}" for number in range(60, 0, -1)]


async def test_N01_a_long_title_is_cut_and_counted_never_the_id() -> None:
    terminal = await a_full_house(waiting(1))
    line = (await terminal.types("pending"))[1]

    assert line.startswith("p001 · ")
    assert "more characters)" in line


async def test_N01_what_needs_a_person_stands_first() -> None:
    late = waiting(1, attention=Attention.CARD_UNDELIVERED, deadline_ms=NOW_MS + 10**9)
    terminal = await a_full_house(waiting(50), late)

    lines = await terminal.types("pending")
    assert lines[1].startswith("p001 · ")
    assert "card_undelivered" in lines[1]


async def test_K06_what_executes_and_needs_a_person_stands_before_all_that_waits() -> None:
    """It stood in the last of three messages, behind ten long titles."""
    unknown = {"state": State.EXECUTING, "attention": Attention.OUTCOME_UNKNOWN}
    runs = {"state": State.EXECUTING, "deadline_ms": NOW_MS}
    undelivered = waiting(3, attention=Attention.CARD_UNDELIVERED)
    terminal = await a_full_house(
        *(waiting(number) for number in range(10, 24)),
        waiting(1, **runs),
        waiting(2, **unknown),
        undelivered,
    )

    lines = await terminal.types("pending")
    listed = [line.split(" · ")[0] for line in lines]
    assert lines[:2] == ["15 pending, page 1 of 2", "2 executing. Needs a person:"]
    assert "⚠️ outcome_unknown" in lines[2]
    assert listed[2:5] == ["p002", "Waiting:", "p003"]
    assert listed[-3:] == ["Executing:", "p001", "More: pending 2"]
    assert len(listed) == 2 + 1 + 1 + 10 + 3


async def test_N01_in_one_list_of_all_what_needs_a_person_stands_first_executing_or_not() -> None:
    unknown = {"state": State.EXECUTING, "attention": Attention.OUTCOME_UNKNOWN}
    all_kinds = [
        waiting(1),
        waiting(2, attention=Attention.CARD_UNDELIVERED),
        waiting(3, state=State.EXECUTING),
        waiting(4, **unknown),
    ]
    store = MemoryStore()
    await store.write(lambda tx: [tx.proposals.add(each) for each in all_kinds])

    as_json = await store.read(lambda tx: pending_json(tx, NOW_MS))

    ids = [each["proposal_id"] for each in as_json["proposals"]]
    assert ids == ["p002", "p004", "p001", "p003"]


async def test_N01_a_page_beyond_the_last_is_the_last() -> None:
    terminal = await a_full_house(*(waiting(number) for number in range(1, 12)))

    assert (await terminal.types("pending 99"))[0] == "11 pending, page 2 of 2"
    assert (await terminal.types("pending two"))[0].startswith("Write: pending [page]")


async def test_what_is_past_its_deadline_is_on_no_list_and_in_no_count() -> None:
    store = MemoryStore()
    lapsed = waiting(1, deadline_ms=NOW_MS)
    await store.write(lambda tx: [tx.proposals.add(each) for each in (lapsed, waiting(2))])

    page = await store.read(lambda tx: pending_page(tx, NOW_MS))
    as_json = await store.read(lambda tx: pending_json(tx, NOW_MS))
    assert page.total == 1
    assert [each.proposal_id for each in page.waiting] == ["p002"]
    assert [each["proposal_id"] for each in as_json["proposals"]] == ["p002"]


async def test_an_empty_list_says_so() -> None:
    assert await a_terminal().types("pending") == ["0 pending"]
