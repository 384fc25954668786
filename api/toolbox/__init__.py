"""An agent's tools: their names, schemas, calls, results and failures."""
