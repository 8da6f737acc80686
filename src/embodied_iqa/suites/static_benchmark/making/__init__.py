"""Items drawn from the simulated cell: text from the state alone, images of the same state."""
