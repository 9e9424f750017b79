"""This package does what people do to a proposal: approve, stop, settle, retry, explain (section
6)."""
