"""The terminal channel: a keyboard, a pipe or a file. It trusts whoever types."""
