"""The law of Signoff: pure, without a platform, a database or a clock of its own."""
