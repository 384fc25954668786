"""The HubSpot service: its manifest, its API client and its tools."""
