"""This package keeps what stops something: a ❌, a freeze, a word taken back, once it is heard.

`heard` are the stops that are not processed yet, `spooling` those that the store could not take,
`freezing` what stops everything. `freezing.stands_still` is what every unit asks before it makes
something final. docs/walk.md has a table of all places where a stop may wait.
"""
