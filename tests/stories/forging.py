"""Somebody writes into the database: how it is done, and what must come of it."""

from __future__ import annotations

from bot.trail import verified_in
from lifecycle.canonical import digest_of, s256
from lifecycle.proposal import Proposal
from lifecycle.state import State
from tests.world import World

DATABASE = "sqlite:///signoff.db"
#: Changes of the rows that count for a rate.
OF_USES = (
    "DELETE FROM uses",
    "UPDATE uses SET actor = 'nour'",
    "UPDATE uses SET tool = 'search'",
    "UPDATE uses SET at_ms = 1",
)
_OPENED = "UPDATE proposals SET opener_kind = '{}', opener = '{}', rest = json_set(rest, {})"


def opened_by(kind: str, name: str, puller: str, *more: str) -> str:
    """Return the statement that opens every proposal in somebody's name."""
    values = ", ".join(("'$.opener_puller'", f"'{puller}'", *more))
    return _OPENED.format(kind, name, values)


def exchanged(proposal: Proposal, old: bytes, new: bytes) -> str:
    """Return the statement that puts another document into its row, with digests to match."""
    texts = (proposal.document, proposal.r3_document)
    document, r3 = (text.replace(old, new) for text in texts)
    assert document != texts[0]
    assert r3 != texts[1]
    return (
        f"UPDATE proposals SET document = X'{document.hex()}', digest = '{digest_of(document)}',"
        f" r3_document = X'{r3.hex()}', r3_s256 = '{s256(r3)}'"
    )


async def problems(world: World) -> list[str]:
    """Return what verification names."""
    return (await verified_in(world.store, None, lambda _: None)).problems


async def named(world: World) -> list[str]:
    """Return what verification says, without the ids before it."""
    return [words.partition(": ")[2] for words in await problems(world)]


async def refused(world: World, proposal_id: str, tool: str) -> None:
    """It ended unexecuted, people were told, and verification says what was wrong with it."""
    await world.passes(seconds=10)
    ended = await world.proposal(proposal_id)
    assert (ended.state, ended.reason) == (State.REJECTED, "digest_mismatch")
    assert world.tool(tool).verbs() == []
    told = await world.store.read(lambda tx: tx.outbox.waiting("terminal", 2**62, 100))
    assert any("Somebody changed the database." in str(message.body) for message in told)
