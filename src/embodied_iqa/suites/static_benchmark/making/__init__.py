"""Items drawn from the simulated cell: text from the state alone, pictures of the same state."""
