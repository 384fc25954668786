"""The policy for hosts and addresses that the process may connect to."""
