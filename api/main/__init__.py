"""The composition root: settings, wiring, commands and the server process."""
