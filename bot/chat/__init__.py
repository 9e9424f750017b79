"""This package speaks with people: every surface shows and hears the same, in the same words.

- `cards` describes a proposal as a card, without a word of any platform.
- `hearing` takes in what people do, once and in order, and finds what nobody told the bot of.
- `showing` brings cards, messages and the board onto each surface until they stand there.
- `commands` reads and answers what is typed, alike everywhere.
- `discord`, `slack` and `terminal` are the surfaces themselves, which do not know each other.
- `surface.py` says what the bot needs of a surface, `turns.py` chooses who speaks next on it.
"""
