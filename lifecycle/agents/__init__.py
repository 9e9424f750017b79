"""This package serves tools that the agent itself runs, under a permit it redeems (section 7)."""
