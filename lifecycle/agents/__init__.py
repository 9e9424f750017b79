"""Tools that the agent itself runs, under a permit that it redeems once (section 7)."""
