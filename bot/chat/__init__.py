"""Chat: what every surface shows and hears in the same words; one folder a platform."""
