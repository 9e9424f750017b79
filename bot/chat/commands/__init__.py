"""The commands of design section 8: read, carried out, answered on every surface alike."""
