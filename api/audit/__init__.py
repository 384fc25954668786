"""Who did what: the journal that every change of configuration goes through, and the list of what is in it."""
