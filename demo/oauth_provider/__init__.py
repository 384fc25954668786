"""An OAuth provider that plays the vendors of the services and protects an MCP server."""
