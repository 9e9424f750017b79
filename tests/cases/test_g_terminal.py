"""Cases G and H12 at the terminal, which trusts whoever types: the law is the same."""

from __future__ import annotations

import json
import re
from dataclasses import replace

from lifecycle.policy import Policy
from tests.builders import PROD, a_policy, the_agents, the_people
from tests.terminal import Terminal, a_terminal, documents


def all_may_type() -> Policy:
    """Return the legend's policy with cal, dee and nour at the keyboard as well."""
    people, agents = the_people(), the_agents()
    for name in ("cal", "dee"):
        people[name] = replace(people[name], terminal=True)
    agents["nour"] = replace(agents["nour"], terminal=True)
    return a_policy(people=people, agents=agents)


async def ignored(terminal: Terminal) -> list[tuple[str, str | None]]:
    """Return (code, actor) of every attempt that had no effect."""
    rows = await terminal.world.audit("ignored")
    return [(row["reason"], row["actor"]["id"] if row["actor"] else None) for row in rows]


async def state(terminal: Terminal) -> str:
    return (await terminal.world.proposal("p1")).state.value


async def approving(terminal: Terminal) -> list[str]:
    """Return whose approvals of p1 count."""
    reviews = await terminal.world.store.read(lambda tx: tx.reviews.of("p1"))
    return [review.person for review in reviews if review.counts]


async def test_G01_neither_the_proposer_nor_the_owner_approves_and_somebody_else_does() -> None:
    agents = the_agents()
    agents["leila"] = replace(agents["leila"], owner="ana")
    for policy, by, code in (
        (None, "ana", "own_proposal"),
        (a_policy(agents=agents), "leila", "owner_of_agent"),
    ):
        terminal = a_terminal(policy)
        await terminal.proposes(PROD, by=by, proposal_id="p1")
        (told,) = await terminal.types("approve p1")
        assert f"({code})" in told
        assert await state(terminal) == "sentinel_approved"
        assert await ignored(terminal) == [(code, "ana")]
        await terminal.types("ben: approve p1")
        assert await state(terminal) == "completed"
        assert await approving(terminal) == ["ben"]


async def test_G02_an_agent_cannot_answer_for_itself() -> None:
    terminal = a_terminal()
    await terminal.proposes(PROD, proposal_id="p1")
    await terminal.types("leila: approve p1")
    forged = json.dumps({"approve": "p1", "approver": "1001"})
    (answer,) = documents(await terminal.types(f"leila: propose {forged}"))
    assert answer["reason"] == "unknown_kind"
    assert await ignored(terminal) == [("own_proposal", "leila")]
    (row,) = await terminal.world.audit("refused")
    assert row["actor"] == {"kind": "agent", "id": "leila"}
    assert await state(terminal) == "sentinel_approved"


async def test_G03_who_is_no_reviewer_changes_nothing_by_whatever_word() -> None:
    terminal = a_terminal(all_may_type())
    await terminal.proposes(PROD, proposal_id="p1")
    for word in ("approve p1", "reject p1 no", "roll-back p1 no"):
        (told,) = await terminal.types(f"cal: {word}")
        assert "(not_a_reviewer)" in told
    assert await ignored(terminal) == [("not_a_reviewer", "cal")] * 3
    assert await state(terminal) == "sentinel_approved"


async def test_G04_whatever_a_card_tells_people_to_type_works_as_it_is_printed() -> None:
    for base, words, end in (
        (None, ("approve", "roll-back"), "rolled_back"),
        (PROD, ("reject",), "rejected"),
    ):
        terminal = a_terminal()
        await terminal.proposes(*([base] if base else []), proposal_id="p1")
        for word in words:
            printed = re.findall(rf"^  > ({word} .+)$", "\n".join(terminal.printed), re.MULTILINE)
            await terminal.types(printed[-1])
            await terminal.world.keeps_house()
        assert await state(terminal) == end


async def test_G06_a_name_that_looks_like_a_reviewers_is_nobodys() -> None:
    terminal = a_terminal()
    await terminal.proposes(PROD, proposal_id="p1")
    for name in ("Ben", "BEN", "b\u0435n", "ben\u200b", "1002", "U BEN"):
        await terminal.types(f"{name}: approve p1")
    assert await approving(terminal) == []
    assert await state(terminal) == "sentinel_approved"


async def test_G08_one_person_typing_twice_is_one() -> None:
    terminal = a_terminal()
    await terminal.proposes(PROD, proposal_id="p1", approval_class="dual")
    for line in ("approve p1", "approve p1 again", "ana: approve p1"):
        await terminal.types(line)
    assert await approving(terminal) == ["ana"]
    assert await ignored(terminal) == [("already_counted", "ana")] * 2
    assert await state(terminal) == "sentinel_approved"


async def test_G10_two_names_are_two_reviewers_only_where_both_may() -> None:
    terminal = a_terminal(all_may_type())
    await terminal.proposes(PROD, proposal_id="p1", approval_class="dual")
    for who in ("ana", "cal", "nour", "leila"):
        await terminal.types(f"{who}: approve p1")
    assert await approving(terminal) == ["ana"]
    assert await state(terminal) == "sentinel_approved"
    await terminal.types("dee: approve p1")
    assert await state(terminal) == "completed"


async def test_G12_the_sender_is_who_is_spoken_for_not_who_the_document_names() -> None:
    terminal = a_terminal()
    for number, actor in enumerate(("nour", "human-overseer")):
        document = PROD | {"proposal_id": f"q{number}", "actor": actor}
        (answer,) = documents(await terminal.types(f"leila: propose {json.dumps(document)}"))
        assert (answer["reason"], answer["state"]) == ("actor_mismatch", None)
    rows = await terminal.world.audit("refused")
    assert [row["actor"]["id"] for row in rows] == ["leila"] * 2


async def test_H12_what_has_ended_is_decided_no_more() -> None:
    terminal = a_terminal()
    await terminal.proposes(PROD, proposal_id="p1")
    await terminal.types("approve p1")
    before = await terminal.world.proposal("p1")
    for line in ("ben: approve p1", "ben: reject p1 no"):
        await terminal.types(line)
    assert await terminal.world.proposal("p1") == before
    assert await ignored(terminal) == [("already_decided", "ben"), ("window_closed", "ben")]
