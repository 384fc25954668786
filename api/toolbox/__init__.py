"""An agent's tools: what they are called, what they take, and what is said when one fails."""
