"""OAuth 2 as a client, for the services' authorization servers and for those that MCP servers name."""
