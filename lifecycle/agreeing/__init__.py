"""Whether rows say what the trail tells: what is stored can be verified (ADR 0013)."""
