"""Measures speed as ratios to bare apps in the same run, so that the machine matters little."""
