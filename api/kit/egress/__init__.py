"""Which hosts and addresses the process may connect to."""
