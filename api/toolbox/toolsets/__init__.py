"""The tools of one server: of an MCP server, or of a service."""
