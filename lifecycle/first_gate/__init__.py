"""The first gate: bytes become a document that says one thing, or are refused (section 4)."""
