"""This package decides when Sentinel is asked: before a beginning, and when something changed.

`gatekeeper` brings a proposal from pending to executing. After a new policy or new evidence
`adopting`, `rechecking` and `open_windows` judge again what is open. What a verdict rests on and
does stands in `lifecycle.verdicts`; how the rules themselves are run, in `lifecycle.checking`.
"""
