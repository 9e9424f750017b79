"""Chat: what every surface shows and hears in the same words; one folder a platform.

- `cards`: a proposal as a card, without a word of any platform
- `hearing`: what people do there: heard once, in order, also what nobody told the bot of
- `showing`: cards, messages and the board, brought onto each surface until they stand there
- `commands`: what is typed, read and answered alike everywhere
- `discord`, `slack`, `terminal`: the surfaces themselves, which do not know each other
"""
