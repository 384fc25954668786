"""How fast is it? Measured as ratios to a bare route in the same run, so that the machine matters little."""
