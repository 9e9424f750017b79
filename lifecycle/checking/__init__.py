"""Sentinel at work: rules run in threads, late ones left behind, and prove themselves."""
