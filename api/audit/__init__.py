"""The audit trail: the journal that writes every configuration change, and the records of tool calls."""
