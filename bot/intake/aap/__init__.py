"""The AAP door: an Agent Approval Protocol provider for its adapters as they are."""
