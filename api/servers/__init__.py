"""The stored servers of a workspace: remote MCP servers and services."""
