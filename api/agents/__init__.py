"""The agents of a workspace: which servers each enables, and which of their tools."""
