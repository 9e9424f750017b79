"""Brings cards, messages and the board onto each surface, and tries again until they stand there.

`delivery` delivers to one surface, `broadcast` joins all surfaces into the Notifier port.
"""
