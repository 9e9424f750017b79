"""What people do on a platform: heard once, in order, also what nobody told the bot of."""
