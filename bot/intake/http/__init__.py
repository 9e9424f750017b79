"""The HTTP door serves agents and sources (design section 8); it has no approve verb."""
