"""The AAP door is a provider of the Agent Approval Protocol for its adapters as they are."""
