"""The first gate makes of bytes a document that says one thing, or refuses them (section 4)."""
