"""The status in a chat: what needs a person is told, and that there is more where it is cut."""

from __future__ import annotations

from functools import partial

import pytest

from bot.bench.windows import add_rows
from bot.chat.commands.replies import Table
from bot.chat.commands.status import status_reply
from bot.storage.memory import MemoryStore
from lifecycle.proposal import Attention
from tests.builders import NOW_MS, a_policy
from tests.contracts.store_examples import waiting


@pytest.mark.parametrize(("many", "title"), [(20, ""), (21, " (the 20 oldest; there are more)")])
async def test_a_list_of_what_needs_a_person_that_is_cut_says_so(many: int, title: str) -> None:
    store, policy = MemoryStore(), a_policy()
    rows = [waiting(f"p{number}", attention=Attention.OVERDUE) for number in range(many)]
    await store.write(partial(add_rows, rows))

    reply = await store.read(lambda tx: status_reply(tx, policy, NOW_MS))

    (table,) = (block for block in reply.blocks if isinstance(block, Table))
    assert (table.title, len(table.rows)) == (f"Needs a person{title}", 20)
