"""Toolsets around a toolset, each of which adds one concern to listing and calling."""
