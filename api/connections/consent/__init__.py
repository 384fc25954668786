"""The authorization-code flow in the browser, from the start page to the callback."""
