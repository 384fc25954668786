"""What is particular to Linear."""
