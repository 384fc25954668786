"""The stored MCP servers and services of a workspace."""
