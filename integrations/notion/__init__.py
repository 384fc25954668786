"""What is particular to Notion."""
