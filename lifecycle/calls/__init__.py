"""Calls of tools: claimed, made, judged by what came back, and made final (section 7)."""
