"""What the clock brings, and what a start finds: windows, deadlines, calls cut off."""
