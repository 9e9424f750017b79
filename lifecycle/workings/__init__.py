"""This package runs the law's own work: units in the store, calls that go on, what keeps failing.

`units` run in the store, once or until it takes them; `many` does work on many proposals so that a
fault of one stops no other; `background` is what outlives its caller; `troubles`, `failing` and
`unwritten` remember what the bot cannot do, and when people are to be told.
"""
