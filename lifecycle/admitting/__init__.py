"""This package takes documents in: from bytes that the first gate accepted to a row in the store.

`intake` is called by `Workflow.submit` and `check`; `enveloping` opens an envelope; `admission`
runs steps 5 to 8 of the gate in one unit (section 4), where `repeated` knows what was sent before,
and `enrolling` writes the row.
"""
