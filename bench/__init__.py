"""Speed of the product as ratios to bare apps measured in the same run, so that the machine matters little."""
