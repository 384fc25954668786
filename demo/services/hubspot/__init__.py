"""The API of HubSpot, with made-up data."""
