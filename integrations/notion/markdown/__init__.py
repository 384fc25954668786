"""Conversion between Markdown and Notion's blocks."""
