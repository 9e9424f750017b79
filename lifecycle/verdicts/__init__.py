"""This package says what a verdict rests on, and what it does to a proposal.

`gathering` collects the facts for a check, `fingerprints` and `effective_terms` say what a policy
asks of a proposal, `fits_tool` whether its tool still takes it, `findings` which objections pass by
themselves, `judge` takes the verdict, and `last_judged` keeps what it was judged by.
"""
