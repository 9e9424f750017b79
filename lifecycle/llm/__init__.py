"""Plans of language models as untrusted input: read, obliged, discharged, witnessed (seed 001).

Pure. What is right here depends on a normaliser and a registry of policies, both arguments.
"""
