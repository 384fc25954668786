"""An OAuth 2 client for the authorization servers of services and of MCP servers."""
