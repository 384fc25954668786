"""Infrastructure without business terms: storage, encryption, HTTP client, egress policy, jobs, time and ids."""
