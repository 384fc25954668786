"""The tenants: made and listed by operators, named by their admins, and taken away whole."""
