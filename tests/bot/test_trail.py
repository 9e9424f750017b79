"""A row that says what no entry of its trail tells is found, whoever changed which (ADR 0013)."""

from __future__ import annotations

import shutil
from pathlib import Path

from bot.storage import open_reader
from bot.trail import Verified, verified_in
from tests.builders import MAIL, PROD
from tests.by_hand import by_hand
from tests.stage import staged

DATABASE = "sqlite:///signoff.db"
FORGED = "INSERT INTO reviews (proposal_id, person, decision, reason, at_ms, surface, found_late)"
FOUR = (
    ("mail", MAIL, "single"),
    ("stopped", MAIL, "single"),
    ("dual", PROD, "dual"),
    ("again", PROD, "dual"),
)
#: What somebody does to the database, and what verification says of it then.
CHANGES = {
    "UPDATE proposals SET state = 'completed' WHERE proposal_id = 'mail'": (
        "proposal mail: its state is completed, entry"
    ),
    "UPDATE proposals SET state = 'executing' WHERE proposal_id = 'dual'": (
        "proposal dual: its state is executing, entry"
    ),
    "UPDATE proposals SET reason = 'expired' WHERE proposal_id = 'stopped'": (
        "proposal stopped: its reason is expired, entry"
    ),
    "UPDATE proposals SET digest = 'sha256:00' WHERE proposal_id = 'mail'": (
        "proposal mail: its digest is not the one of entry"
    ),
    "UPDATE proposals SET document = replace(CAST(document AS TEXT), 'ail', 'oil')"
    " WHERE proposal_id = 'mail'": "proposal mail: what is stored does not fit its digest",
    "DELETE FROM proposals WHERE proposal_id = 'mail'": "proposal mail: its row is gone",
    "DELETE FROM audit WHERE proposal_id = 'stopped'": "proposal stopped: no entry tells of it",
    "UPDATE proposals SET rest = 'x' WHERE proposal_id = 'mail'": (
        "proposal mail: its row, reviews or entries cannot be read"
    ),
    f"{FORGED} VALUES ('dual', 'ben', 'approve', '', 1, 'terminal', 0)": (
        "proposal dual: 1 approvals by ben are kept, the trail tells of 0"
    ),
    "DELETE FROM reviews WHERE person = 'ana' AND proposal_id = 'dual'": (
        "proposal dual: 0 approvals by ana are kept, the trail tells of 1"
    ),
    f"{FORGED} VALUES ('dual', 'cal', 'reject', '', 1, 'terminal', 0)": (
        "proposal dual: no entry tells of the reject by cal"
    ),
    "UPDATE reviews SET void_why = NULL WHERE proposal_id = 'again'": (
        "proposal again: the approval by ana counts, although the trail says that it was taken"
    ),
}


async def lived(folder: Path) -> None:
    """Let four proposals come and be answered."""
    async with staged(DATABASE, folder) as world:
        for name, tool, quorum in FOUR:
            target = dict(tool["target"], resource_id=f"of-{name}")
            await world.submits(tool, proposal_id=name, target=target, approval_class=quorum)
        await world.approves("ana", "dual")
        await world.approves("ana", "again")
        await world.workflow.take_back("again", world.sender("ana"))
        await world.rejects("ana", "stopped")


async def verified(folder: Path) -> Verified:
    reader = await open_reader(DATABASE, folder)
    try:
        return await verified_in(reader, None, lambda _: None)
    finally:
        await reader.close()


async def test_what_nobody_changed_agrees_and_what_somebody_changed_does_not(tmp_path):
    await lived(tmp_path / "lived")
    whole = await verified(tmp_path / "lived")
    assert (whole.proposals, whole.problems) == (4, [])

    for number, (change, said) in enumerate(CHANGES.items()):
        folder = tmp_path / str(number)
        shutil.copytree(tmp_path / "lived", folder)
        by_hand(folder / "signoff.db", change)

        found = await verified(folder)

        assert [words for words in found.problems if words.startswith(said)], (change, found)
