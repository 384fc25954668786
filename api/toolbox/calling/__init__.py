"""Calling a tool: the one choke point, with its limits, circuit breakers and deadlines."""
