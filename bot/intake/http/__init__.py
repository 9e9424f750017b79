"""The HTTP door for agents and sources (issue of the doors; design section 8): no approve verb."""
