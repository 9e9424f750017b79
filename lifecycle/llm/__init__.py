"""This package reads plans of language models, as untrusted input (seed 001).

A plan is read, obligations follow from it and are discharged, and a witness records that.
Everything is pure: what is valid depends on a normaliser and a registry of policies, both of them
arguments.
"""
