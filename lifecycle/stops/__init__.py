"""This package keeps stops that cannot be carried out yet, and reads cards for those nobody heard.

`spooling` keeps what the store could not take, `unspooled` tries the spool again, and `lost_stops`
keeps what the end of the bot cut off and tells what was lost then. `heard_first` asks for a ❌ on a
card before a proposal that had to wait begins. Stops that were heard and are not processed stand in
`lifecycle.heard`; docs/walk.md has a table of all places.
"""
