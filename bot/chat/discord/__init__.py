"""Discord: where people sign off with ✅ and ❌, and agents propose by bot messages."""
