"""The HTTP door for agents and sources (design section 8): no approve verb."""
