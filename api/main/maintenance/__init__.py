"""Commands for the operator's own care of an installation: examine, back up, restore, move."""
