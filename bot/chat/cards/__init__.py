"""A proposal as a card: what every platform shows of it, in its own way."""
