"""This package asks Sentinel when a verdict is needed, and does what follows from its answer.

`gatekeeper` brings a proposal from pending to executing. `gathering` collects the facts for a
check, `judge` takes the verdict. After a new policy or new evidence `adopting`, `rechecking` and
`open_windows` judge again what is open; `last_judged` says what still has to be. How the rules
themselves are run stands in `lifecycle.checking`.
"""
