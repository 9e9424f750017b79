"""Provides the terminal channel over a keyboard, a pipe or a file. It trusts whoever types."""
