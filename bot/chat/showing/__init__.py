"""Cards, messages and the board: brought onto each surface until they stand there."""
