"""Reads, carries out and answers the commands of design section 8, on every surface alike."""
