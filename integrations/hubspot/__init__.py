"""What is particular to HubSpot."""
