"""What every store owes the law. A test module a store says how one is opened."""

from __future__ import annotations

from tests.contracts.store_books import BooksContract
from tests.contracts.store_cards import CardsContract
from tests.contracts.store_lists import ListsContract
from tests.contracts.store_proposals import ProposalsContract
from tests.contracts.store_trail import TrailContract
from tests.contracts.store_units import UnitsContract


class StoreContract(
    UnitsContract, ProposalsContract, ListsContract, TrailContract, CardsContract, BooksContract
):
    """Subclass it beside a fixture `store`."""
