"""OAuth 2 as a client, for whatever authorization server: the services' own, and those that MCP servers name."""
